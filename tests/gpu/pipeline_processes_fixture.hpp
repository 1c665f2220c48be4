#ifndef GRAINSCOPE_TESTS_GPU_PIPELINE_PROCESSES_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_PIPELINE_PROCESSES_FIXTURE_HPP

// A training pipeline of two processes, which are the tests' own program once more.

#include <memory>
#include <vector>

#include "family_fixture.hpp"
#include "gnn/pipeline_worker.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::harness {

class PipelineProcessesOnGpu : public FamilyTest {
 protected:
  void SetUp() override {
    FamilyTest::SetUp();
    if (!IsSkipped()) {
      job_.node = machine_->topology.usable_nodes().front();
      prepare("kron:12", {10, 25}, 64);
    }
  }

  void prepare(const char* spec, const std::vector<int>& fanouts, std::uint32_t columns) {
    gnn::TrainingRequest request;
    request.sample = {fanouts, 1};
    request.batch = 150;
    request.batches = 24;
    request.labelled_percent = 60;
    request.shape = {columns, 32, 8, static_cast<std::uint32_t>(fanouts.size())};
    request.rate = 1;
    plan_ = gnn::plan_training(graph::make_graph(graph::parse_graph_spec(spec), false), request);
  }

  // Of the streams of one process.
  [[nodiscard]] std::vector<double> losses_of_one_process() const {
    const auto table = gnn::make_pinned_table(plan_.neighbours.vertices(), plan_.features);
    gnn::PipelineRequest request;
    request.mode = job_.mode;
    request.store = job_.store;
    request.hot_percent = job_.hot;
    return gnn::make_pipeline(plan_, *table, request)->run().losses;
  }

  // Without a daemon too they are two processes, which then take turns on the GPU.
  [[nodiscard]] std::unique_ptr<PipelineProcesses> started(const Variables& client = {},
                                                           const Percents& percents = {100, 100}) const {
    return std::make_unique<PipelineProcesses>(plan_, job_, percents, client);
  }

  void expect_right(PipelineProcesses& processes) const {
    const gnn::StageTimes stages = processes.stages();
    ASSERT_EQ(stages.losses.size(), 24U);
    for (const auto* const times : {&stages.sample_s, &stages.gather_s, &stages.train_s}) {
      ASSERT_EQ(times->size(), 24U);
      for (const double seconds : *times) {
        EXPECT_GT(seconds, 0);
      }
    }
    for (int round = 0; round < 3; ++round) {
      const PipelineProcesses::Run run = processes.run();
      EXPECT_EQ(run.steps.losses, stages.losses) << "round " << round;
      EXPECT_EQ(run.steps.step_s.size(), 23U);
      EXPECT_EQ(run.gather_s.size(), 24U);
      EXPECT_EQ(run.train_s.size(), 24U);
      EXPECT_GT(run.steps.cpu_s, 0);
      for (const double seconds : run.steps.step_s) {
        EXPECT_GT(seconds, 0);
      }
    }
    const std::vector<double> one = losses_of_one_process();
    const std::vector<double> reference = gnn::reference_losses(plan_, 3, 1);
    for (std::size_t batch = 0; batch < one.size(); ++batch) {
      EXPECT_NEAR(stages.losses[batch], one[batch], 1e-5 * one[batch]) << "mini-batch " << batch;
      if (batch < reference.size()) {
        EXPECT_NEAR(stages.losses[batch], reference[batch], 2e-5 * reference[batch]);
      }
    }
    EXPECT_GT(processes.gpu_bytes(), 0U);
  }

  gnn::TrainingPlan plan_;
  PipelineJob job_;
};

}  // namespace grainscope::harness

#endif
