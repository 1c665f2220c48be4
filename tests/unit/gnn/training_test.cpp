// A training run, decided; and how one thread waits for another.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Vertex;

Csr fed_by(const char* spec) {
  Csr graph = graph::make_graph(graph::parse_graph_spec(spec), false);
  return graph.directed ? graph::transpose(graph) : std::move(graph);
}

TrainingRequest small_run() {
  TrainingRequest request;
  request.sample = {{10, 10}, 1};
  request.batch = 128;
  request.batches = 40;
  request.labelled_percent = 50;
  request.shape = {32, 32, 8, 2};
  return request;
}

TEST(TrainingPlan, takes_whole_mini_batches_of_labelled_vertices_epoch_after_epoch) {
  const TrainingPlan plan = plan_training(fed_by("kron:11"), small_run());
  ASSERT_EQ(plan.seeds.size(), 40);
  std::set<Vertex> epoch;  // 1024 labelled: 8 mini-batches
  for (std::size_t b = 0; b < 8; ++b) {
    EXPECT_EQ(plan.seeds[b].size(), 128);
    epoch.insert(plan.seeds[b].begin(), plan.seeds[b].end());
  }
  EXPECT_EQ(epoch.size(), 1024);
  EXPECT_TRUE(epoch.contains(plan.seeds[8].front()));
  EXPECT_NE(plan.seeds[8], plan.seeds[0]);
}

// A vertex is met over its out-edges: of those that were not met the ones that are met sooner come first.
TEST(TrainingPlan, puts_rows_that_presampling_did_not_meet_by_out_degree) {
  TrainingRequest request = small_run();
  request.batch = 4;
  request.batches = 2;
  const Csr in_edges = fed_by("citation:12");
  ASSERT_TRUE(in_edges.directed);
  const TrainingPlan plan = plan_training(in_edges, request);
  const Csr out_edges = graph::transpose(plan.neighbours);
  std::uint64_t differ = 0;
  for (Vertex v = plan.neighbours.vertices() / 2; v + 1 < plan.neighbours.vertices(); ++v) {
    ASSERT_GE(out_edges.degree(v), out_edges.degree(v + 1)) << v;
    differ += plan.neighbours.degree(v) < plan.neighbours.degree(v + 1) ? 1 : 0;
  }
  EXPECT_GT(differ, 0) << "in-degrees would do as well";
}

TEST(TrainingPlan, puts_hot_rows_first_and_counts_what_is_asked_for) {
  TrainingRequest request = small_run();
  request.batch = 16;  // so that a mini-batch is far from all of the graph
  const TrainingPlan plan = plan_training(fed_by("kron:13"), request);
  const std::uint64_t all = std::accumulate(plan.rows.begin(), plan.rows.end(), std::uint64_t{0});
  EXPECT_DOUBLE_EQ(plan.rows_beyond(0), static_cast<double>(all) / 40);
  EXPECT_EQ(plan.rows_beyond(plan.neighbours.vertices()), 0);
  EXPECT_EQ(plan.rows_beyond(UINT64_MAX), 0);
  const double beyond = plan.rows_beyond(plan.neighbours.vertices() / 10);
  EXPECT_LT(beyond,
            0.8 * plan.rows_beyond(0));  // a tenth of the rows takes more than a tenth of the accesses
}

// By sets of what the sampler draws.
TEST(TrainingPlan, counts_a_row_once_that_several_mini_batches_of_a_window_ask_for) {
  TrainingRequest request = small_run();
  request.batch = 16;
  const TrainingPlan plan = plan_training(fed_by("kron:13"), request);
  const Vertex hot = plan.neighbours.vertices() / 50;
  EXPECT_DOUBLE_EQ(plan.rows_beyond(hot, 1, 2), plan.rows_beyond(hot));
  CpuSampler sampler(plan.neighbours, request.sample);
  for (const std::uint64_t ranks : {1, 2, 3}) {
    for (const std::uint64_t window : {2, 4}) {
      const std::uint64_t rounds = 40 / (window * ranks);
      std::uint64_t rows = 0;
      for (std::uint64_t of_window = 0; of_window < rounds * ranks; ++of_window) {
        std::set<Vertex> asked;
        for (std::uint64_t at = 0; at < window; ++at) {
          const std::uint64_t batch = (of_window / ranks * window + at) * ranks + of_window % ranks;
          const MiniBatch sampled = sampler.sample(plan.seeds[batch], batch);
          std::copy_if(sampled.nodes.begin(), sampled.nodes.end(), std::inserter(asked, asked.end()),
                       [&](Vertex row) { return row >= hot; });
        }
        rows += asked.size();
      }
      EXPECT_DOUBLE_EQ(plan.rows_beyond(hot, window, ranks),
                       static_cast<double>(rows) / static_cast<double>(rounds * ranks * window))
          << window << " of " << ranks;
      EXPECT_LT(plan.rows_beyond(hot, window, ranks), plan.rows_beyond(hot));
    }
  }
  EXPECT_DOUBLE_EQ(plan.rows_beyond(hot, 64, 1), plan.rows_beyond(hot)) << "no whole window";
}

TEST(TrainingPlan, refuses_what_cannot_be) {
  const Csr graph = fed_by("kron:8");
  const auto refused = [&](auto change) {
    TrainingRequest request = small_run();
    change(request);
    EXPECT_THROW(static_cast<void>(plan_training(graph, request)), UsageError);
  };
  refused([](TrainingRequest& r) { r.sample.fanouts = {10}; });
  refused([](TrainingRequest& r) { r.sample.fanouts = {10, 0}; });
  refused([](TrainingRequest& r) { r.batch = 0; });
  refused([](TrainingRequest& r) { r.batches = 0; });
  refused([](TrainingRequest& r) { r.rate = 0; });
  refused([](TrainingRequest& r) { r.labelled_percent = 0; });
  refused([](TrainingRequest& r) { r.shape.classes = 1; });
}

PipelineRequest on_the_cpu() {
  PipelineRequest request;
  request.mode = Mode::cpu_gather;
  request.store = Store::pageable;
  return request;
}

TEST(CpuPipeline, trains_as_the_reference_does) {
  for (const char* const spec : {"kron:12", "web:12"}) {
    const TrainingPlan plan = plan_training(fed_by(spec), small_run());
    const auto table = make_pageable_table(plan.neighbours.vertices(), Features(32));
    const auto pipeline = make_pipeline(plan, *table, on_the_cpu());
    const PipelineRun run = pipeline->run();
    const StageTimes stages = pipeline->stages();
    EXPECT_EQ(run.losses, stages.losses) << spec;
    EXPECT_EQ(run.losses.size(), 40);
    EXPECT_EQ(pipeline->batches(), 40);
    EXPECT_LT(run.losses.back(), 0.75 * run.losses.front()) << spec;
    const std::vector<double> expected = reference_losses(plan, 40, 1);
    for (std::size_t b = 0; b < expected.size(); ++b) {
      EXPECT_NEAR(run.losses[b], expected[b], 1e-4 * expected[b]) << spec << ", mini-batch " << b;
    }
    EXPECT_GT(run.cpu_s, 0);
    EXPECT_EQ(run.step_s.size(), run.single_s.size());
    EXPECT_GT(*std::min_element(run.step_s.begin(), run.step_s.end()), 0);
  }
}

TEST(CpuPipeline, a_wrong_row_is_found) {
  const TrainingPlan plan = plan_training(fed_by("kron:10"), small_run());
  const auto table = make_pageable_table(plan.neighbours.vertices(), Features(32));
  const auto pipeline = make_pipeline(plan, *table, on_the_cpu());
  static_cast<void>(pipeline->stages());
  reinterpret_cast<float*>(table->bytes())[std::uint64_t{plan.seeds[3][5]} * 32 + 7] += 0.25F;
  EXPECT_THROW(static_cast<void>(pipeline->stages()), FailedError);
}

TEST(ReferenceLosses, of_several_gpus_take_the_mean_gradient_of_a_step) {
  const TrainingPlan plan = plan_training(fed_by("kron:10"), small_run());
  const std::vector<double> one = reference_losses(plan, 4, 1);
  const std::vector<double> two = reference_losses(plan, 4, 2);
  EXPECT_EQ(one[0], two[0]);
  EXPECT_NE(one[1], two[1]);
  EXPECT_EQ(two.size(), 4);
}

TEST(PipelineRequest, refuses_what_no_machine_can_do) {
  const auto refused = [](auto change) {
    PipelineRequest request;
    change(request);
    EXPECT_THROW(require_possible(request), UsageError);
  };
  EXPECT_NO_THROW(require_possible(PipelineRequest{}));
  EXPECT_NO_THROW(require_possible(on_the_cpu()));
  refused([](PipelineRequest& r) { r.store = Store::pageable; });
  refused([](PipelineRequest& r) { r.mode = Mode::row_dma, r.store = Store::pinned; });
  refused([](PipelineRequest& r) { r.store = Store::managed; });
  refused([](PipelineRequest& r) { r.window = 2; });
  refused([](PipelineRequest& r) { r.window = 0; });
  refused([](PipelineRequest& r) { r.hot_percent = 101; });
  refused([](PipelineRequest& r) { r.gpus.clear(); });
  refused([](PipelineRequest& r) { r.threads = 0; });
  refused([](PipelineRequest& r) { r.gather_sms = -1; });
}

TEST(PipelineRequest, a_table_that_does_not_fit_or_a_run_too_short_is_refused) {
  TrainingRequest request = small_run();
  request.batches = 2;
  const TrainingPlan plan = plan_training(fed_by("kron:9"), request);
  const auto fits = make_pageable_table(plan.neighbours.vertices(), Features(32));
  const auto narrow = make_pageable_table(plan.neighbours.vertices(), Features(16));
  EXPECT_THROW(static_cast<void>(make_pipeline(plan, *fits, on_the_cpu())), UsageError);
  EXPECT_THROW(static_cast<void>(make_pipeline(plan, *narrow, on_the_cpu())), UsageError);
}

}  // namespace
namespace {

TEST(Progress, tells_of_steps_that_are_done) {
  Progress progress;
  progress.reach(2);
  EXPECT_TRUE(progress.wait_for(0));
  EXPECT_TRUE(progress.wait_for(2));
}

TEST(Progress, who_waits_for_a_step_that_never_comes_is_told) {
  Progress progress;
  bool reached = true;
  std::thread waiting([&] { reached = progress.wait_for(4); });
  progress.reach(3);
  progress.end();
  waiting.join();
  EXPECT_FALSE(reached);
  EXPECT_TRUE(progress.wait_for(3));  // what was done stays done
}

// Two threads hand slots of a ring to one another, as feeding and training do: what one has written the other
// finds, and nothing is overwritten before it was read.
TEST(Progress, two_threads_share_a_ring_of_slots) {
  constexpr std::uint64_t kSteps = 20000;
  constexpr std::uint64_t kSlots = 2;
  std::vector<std::uint64_t> ring(kSlots);
  Progress written;
  Progress read;
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    for (std::uint64_t step = 0; step < kSteps && written.wait_for(step + 1); ++step) {
      wrong += ring[step % kSlots] != step ? 1 : 0;
      read.reach(step + 1);
    }
  });
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    if (step >= kSlots) {
      ASSERT_TRUE(read.wait_for(step - kSlots + 1));
    }
    ring[step % kSlots] = step;
    written.reach(step + 1);
  }
  written.end();
  reader.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(read.wait_for(kSteps));
}

}  // namespace
}  // namespace grainscope::gnn
