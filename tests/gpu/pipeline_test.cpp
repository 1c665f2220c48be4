// Training pipelines on GPUs: every way to gather gives the losses of the reference, and the family's
// cases agree and say what crossed the link.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "family_fixture.hpp"
#include "gnn/case.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

struct Way {
  Mode mode;
  Store store;
  double hot = 0;
  int window = 1;
  std::optional<ListPlacement> lists = ListPlacement::device;
  bool unbounded = false;
};

class GpuPipelines : public GpuTest {
 protected:
  void prepare(const char* spec, const std::vector<int>& fanouts, std::uint32_t columns,
               std::uint64_t batches = 24) {
    TrainingRequest request;
    request.sample = {fanouts, 1};
    request.batch = 150;
    request.batches = batches;
    request.labelled_percent = 60;
    request.shape = {columns, 32, 8, static_cast<std::uint32_t>(fanouts.size())};
    request.rate = 1;
    table_.reset();
    plan_ = plan_training(graph::make_graph(graph::parse_graph_spec(spec), false), request);
    table_ = make_mapped_table(plan_.neighbours.vertices(), Features(columns));
  }

  [[nodiscard]] std::unique_ptr<Pipeline> pipeline(const Way& way, const std::vector<int>& gpus = {0}) const {
    PipelineRequest request;
    request.mode = way.mode;
    request.store = way.store;
    request.hot_percent = way.hot;
    request.window = way.window;
    request.lists = way.lists;
    request.unbounded = way.unbounded;
    request.gpus = gpus;
    request.threads = 2;
    return make_pipeline(plan_, *table_, request);
  }

  // Of runs in which stages overlap and of one in which they do not.
  [[nodiscard]] std::vector<double> losses(const Way& way, const std::vector<int>& gpus = {0}) const {
    SCOPED_TRACE(testing::Message() << name(way.mode) << " " << name(way.store) << ", window " << way.window);
    const auto made = pipeline(way, gpus);
    const StageTimes stages = made->stages();
    EXPECT_EQ(stages.losses.size(), made->batches());
    for (int round = 0; round < 3; ++round) {
      const PipelineRun run = made->run();
      EXPECT_EQ(run.losses, stages.losses);
      EXPECT_GT(run.cpu_s, 0);
      const std::size_t windows = made->batches() / gpus.size() / static_cast<std::size_t>(way.window);
      EXPECT_EQ(run.step_s.size(), windows - 1);
      EXPECT_EQ(run.single_s.size(), (windows - 1) * static_cast<std::size_t>(way.window));
    }
    for (const auto* const times : {&stages.sample_s, &stages.gather_s, &stages.train_s}) {
      for (const double seconds : *times) {
        EXPECT_GT(seconds, 0);
      }
    }
    EXPECT_GT(made->gpu_bytes(), 0);
    return stages.losses;
  }

  void expect_near(const std::vector<double>& found, const std::vector<double>& expected) const {
    ASSERT_LE(found.size(), expected.size());
    for (std::size_t b = 0; b < found.size(); ++b) {
      EXPECT_NEAR(found[b], expected[b], 1e-3 * expected[b]) << "mini-batch " << b;
    }
    EXPECT_LT(found.back(), 0.9 * found.front());
  }

  TrainingPlan plan_;
  std::unique_ptr<FeatureTable> table_;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{{Mode::masked, Store::device},
                                    {Mode::masked, Store::mapped},
                                    {Mode::naive, Store::mapped},
                                    {Mode::circular_shift, Store::mapped},
                                    {Mode::address_ordered, Store::mapped},
                                    {Mode::address_ordered, Store::mapped, 0, 4},
                                    {Mode::masked, Store::tiered, 10},
                                    {Mode::address_ordered, Store::tiered, 33, 2},
                                    {Mode::masked, Store::tiered, 0},
                                    {Mode::masked, Store::tiered, 100},
                                    {Mode::cpu_gather_dma, Store::pinned},
                                    {Mode::naive, Store::mapped, 0, 1, ListPlacement::device, true},
                                    {Mode::masked, Store::mapped, 0, 1, {}},
                                    {Mode::cpu_gather_dma, Store::pinned, 0, 1, {}},
                                    {Mode::address_ordered, Store::mapped, 0, 4, {}, true},
                                    {Mode::masked, Store::tiered, 10, 1, ListPlacement::mapped}};
  return all;
}

// Of several GPUs.
const std::vector<Way>& spread_ways() {
  static const std::vector<Way> all{{Mode::masked, Store::mapped, 0, 1, ListPlacement::interleaved},
                                    {Mode::masked, Store::multi_gpu, 10},
                                    {Mode::masked, Store::multi_gpu, 100},
                                    {Mode::masked, Store::multi_gpu, 0},
                                    {Mode::naive, Store::multi_gpu, 33, 1, ListPlacement::interleaved, true},
                                    {Mode::address_ordered, Store::multi_gpu, 50, 3},
                                    {Mode::masked, Store::multi_gpu, 25, 1, {}}};
  return all;
}

TEST_F(GpuPipelines, every_way_gives_the_losses_of_the_reference) {
  const struct {
    const char* graph;
    std::vector<int> fanouts;
    std::uint32_t columns;
  } cases[] = {{"kron:12", {10, 25}, 64}, {"pareto:12", {5, 5, 5}, 37}, {"power", {4, 4}, 257}};
  for (const auto& each : cases) {
    SCOPED_TRACE(each.graph);
    prepare(each.graph, each.fanouts, each.columns);
    const std::vector<double> expected = reference_losses(plan_, 24, 1);
    std::vector<double> first;
    for (const Way& way : ways()) {
      const std::vector<double> found = losses(way);
      expect_near(found, expected);
      if (first.empty()) {
        first = found;
      }
      EXPECT_EQ(found, first) << name(way.mode) << " " << name(way.store);
    }
  }
}

// Two replicas on one GPU share nothing but the GPU.
TEST_F(GpuPipelines, two_replicas_average_their_gradients) {
  prepare("kron:12", {10, 10}, 64, 25);
  const std::vector<double> expected = reference_losses(plan_, 24, 2);
  for (const Way& way : {Way{Mode::masked, Store::mapped}, Way{Mode::address_ordered, Store::mapped, 0, 3},
                         Way{Mode::cpu_gather_dma, Store::pinned}}) {
    const std::vector<double> found = losses(way, {0, 0});
    EXPECT_EQ(found.size(), 24);  // whole steps
    expect_near(found, expected);
  }
  for (const Way& way : spread_ways()) {
    expect_near(losses(way, {0, 0}), expected);
  }
}

TEST_F(GpuPipelines, two_gpus_average_their_gradients) {
  if (runtime().devices.size() < 2) {
    GTEST_SKIP() << "needs two GPUs";
  }
  prepare("kron:12", {10, 10}, 64);
  const std::vector<double> expected = reference_losses(plan_, 24, 2);
  try {
    for (const Way& way : ways()) {
      expect_near(losses(way, {0, 1}), expected);
    }
    for (const Way& way : spread_ways()) {
      expect_near(losses(way, {1, 0}), expected);
    }
    expect_near(losses({Mode::masked, Store::mapped}, {1, 0}), expected);
  } catch (const SkipError& skip) {
    GTEST_SKIP() << skip.what();
  }
}

TEST_F(GpuPipelines, sampling_by_the_cpu_is_timed_for_all_gpus) {
  prepare("kron:15", {10, 25}, 16, 48);
  const auto sample_s = [&](const std::vector<int>& gpus) {
    const Way way{Mode::masked, Store::mapped, 0, 1, {}};
    const auto made = pipeline(way, gpus);
    static_cast<void>(made->stages());
    std::vector<double> seconds = made->stages().sample_s;
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  };
  const double ratio = sample_s({0, 0}) / sample_s({0});
  EXPECT_GT(ratio, 1.4);
  EXPECT_LT(ratio, 3.5);
}

TEST_F(GpuPipelines, a_wrong_row_is_found) {
  prepare("kron:10", {5, 5}, 32);
  const auto made = pipeline({Mode::masked, Store::mapped});
  static_cast<void>(made->stages());
  reinterpret_cast<float*>(table_->bytes())[std::uint64_t{plan_.seeds[3][5]} * 32 + 7] += 0.25F;
  EXPECT_THROW(static_cast<void>(made->stages()), FailedError);
}

TEST_F(GpuPipelines, refuse_tables_that_a_gpu_cannot_read) {
  prepare("kron:9", {5, 5}, 32);
  const auto pageable = make_pageable_table(plan_.neighbours.vertices(), Features(32));
  PipelineRequest request;
  EXPECT_THROW(static_cast<void>(make_pipeline(plan_, *pageable, request)), UsageError);
  request.window = 2;
  EXPECT_THROW(static_cast<void>(make_pipeline(plan_, *table_, request)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn

// pipeline/graphsage on a GPU: its cases run, agree with each other, and say what crossed the link.

namespace grainscope::harness {
namespace {

class PipelineFamily : public FamilyTest {
 protected:
  // Mode and store of each case that ran.
  std::set<std::string> run_all(const std::vector<Benchmark>& benchmarks) {
    std::set<std::string> ran;
    for (const Benchmark& benchmark : benchmarks) {
      SCOPED_TRACE(benchmark.id.name());
      if (const auto measurement = run(benchmark)) {
        const std::string mode = to_string(benchmark.id.axis("mode"));
        const std::string store = to_string(benchmark.id.axis("store"));
        ran.insert(mode + " " + store);
        expect_right(*measurement, mode, store);
      }
    }
    return ran;
  }

 private:
  static void expect_right(const Measurement& measurement, const std::string& mode,
                           const std::string& store) {
    EXPECT_EQ(why_impossible(measurement), "");
    const auto& counters = measurement.counters;
    EXPECT_LT(counters.at("loss_last"), counters.at("loss_first"));
    EXPECT_GT(counters.at("sample_s") * counters.at("gather_s") * counters.at("train_s"), 0);
    EXPECT_GT(measurement.bytes, 0);
    if (mode == "cpu_only") {
      return;
    }
    EXPECT_GT(counters.at("gpu_bytes"), 0);
    if (counters.contains("overlap")) {  // twelve steps need not be enough to know it
      EXPECT_LE(counters.at("overlap"), 1.25);
    }
    EXPECT_EQ(*measurement.link_bytes_least, store == "device" ? 0 : measurement.bytes);
    EXPECT_EQ(counters.at("hit_rate"), store == "device" ? 1 : 0);
  }
};

TEST_F(PipelineFamily, cases_run_and_tell_stages_losses_and_link_bytes) {
  const std::set<std::string> ran =
      run_all(listed(pipeline_graphsage(std::make_shared<GnnGraphCache>()), Preset::smoke));
  EXPECT_TRUE(ran.contains("cpu_only pageable"));
  EXPECT_TRUE(ran.contains("masked device"));
}

TEST_F(PipelineFamily, lists_may_lie_elsewhere_and_gathers_be_unbounded) {
  const Family family = pipeline_graphsage(std::make_shared<GnnGraphCache>());
  const std::vector<std::vector<std::pair<std::string, std::string>>> ways{
      {{"mode", "masked"}, {"store", "mapped"}, {"placement", "host,mapped"}},
      {{"mode", "masked"}, {"store", "mapped"}, {"bounded", "off"}}};
  for (const auto& axes : ways) {
    EXPECT_EQ(run_all(listed_with(axes, family, Preset::smoke)), std::set<std::string>{"masked mapped"});
  }
}

}  // namespace
}  // namespace grainscope::harness
