// Training pipelines on GPUs: every way to gather gives the losses of the reference, and the family's
// cases agree and say what crossed the link.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "family_fixture.hpp"
#include "gnn/case.hpp"
#include "gnn/pipeline_worker.hpp"
#include "gnn/training_ranks.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
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

// A training pipeline of two processes that share lists and rows by CUDA IPC, in turns without MPS and as
// clients of a daemon of it; and of a process for each GPU.

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
    const auto table = gnn::make_mapped_table(plan_.neighbours.vertices(), plan_.features);
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

// Two processes without MPS, in turns on the GPU: the same losses as the streams of one process, right rows,
// and nothing left when one ends.

namespace {

using gnn::Mode;
using gnn::Store;

TEST_F(PipelineProcessesOnGpu, have_the_losses_of_one_process) {
  const struct {
    const char* graph;
    std::vector<int> fanouts;
    std::uint32_t columns;
    Mode mode;
    Store store;
    double hot;
  } cases[] = {{"kron:12", {10, 25}, 64, Mode::masked, Store::mapped, 0},
               {"pareto:12", {5, 5, 5}, 37, Mode::circular_shift, Store::mapped, 0},
               {"kron:12", {10, 10}, 65, Mode::naive, Store::mapped, 0},
               {"power", {4, 4}, 257, Mode::masked, Store::tiered, 20},
               {"kron:12", {10, 10}, 64, Mode::address_ordered, Store::mapped, 0},
               {"kron:12", {10, 10}, 64, Mode::masked, Store::device, 0}};
  for (const auto& each : cases) {
    SCOPED_TRACE(testing::Message() << each.graph << " " << name(each.mode) << " " << name(each.store));
    prepare(each.graph, each.fanouts, each.columns);
    job_.mode = each.mode;
    job_.store = each.store;
    job_.hot = each.hot;
    try {
      expect_right(*started());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

TEST_F(PipelineProcessesOnGpu, refuse_what_no_kernel_gathers) {
  job_.mode = Mode::cpu_gather_dma;
  job_.store = Store::pinned;
  EXPECT_THROW(static_cast<void>(started()), FailedError);
}

TEST_F(PipelineProcessesOnGpu, that_are_killed_are_told_of_and_take_the_other_along) {
  for (const bool gathers : {true, false}) {
    std::unique_ptr<PipelineProcesses> processes;
    try {
      processes = started();
      static_cast<void>(processes->stages());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
    const pid_t killed = gathers ? processes->gathering_pid() : processes->training_pid();
    const pid_t other = gathers ? processes->training_pid() : processes->gathering_pid();
    kill(killed, SIGKILL);
    try {
      static_cast<void>(processes->run());
      ADD_FAILURE() << "it ran";
    } catch (const FailedError& error) {
      EXPECT_NE(std::string(error.what()).find("signal 9"), std::string::npos) << error.what();
    }
    processes.reset();
    EXPECT_TRUE(kill(other, 0) != 0 && errno == ESRCH) << "the other is left";
  }
}

// A process that stands still while the other waits for its turn.
TEST_F(PipelineProcessesOnGpu, that_hang_are_given_up) {
  std::unique_ptr<PipelineProcesses> processes;
  try {
    processes = started();
    static_cast<void>(processes->stages());
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
  const pid_t stopped = processes->gathering_pid();
  kill(stopped, SIGSTOP);
  const double start_s = steady_now_s();
  EXPECT_THROW(static_cast<void>(processes->run()), FailedError);
  EXPECT_LT(steady_now_s() - start_s, 2 * gnn::kPatience_s);
  processes.reset();
  EXPECT_TRUE(kill(stopped, 0) != 0 && errno == ESRCH);
}

}  // namespace
// A process for each GPU, which read each other's rows and gradients by CUDA IPC: the same losses as one
// process that trains on these GPUs, and nothing left when one ends.

namespace {

class TrainingRanksOnGpu : public PipelineProcessesOnGpu {
 protected:
  // On one GPU both are on that one.
  [[nodiscard]] static std::vector<int> gpus() {
    std::vector<int> gpus = reachable_gpus();
    gpus.resize(2, 0);
    return gpus;
  }

  [[nodiscard]] std::vector<double> losses_of_one_process(const gnn::PipelineRequest& request) const {
    const auto table = gnn::make_mapped_table(plan_.neighbours.vertices(), plan_.features);
    return gnn::make_pipeline(plan_, *table, request)->run().losses;
  }

  void expect_right(const gnn::PipelineRequest& request) const {
    TrainingRanks ranks(plan_, request);
    const gnn::StageTimes stages = ranks.stages();
    const std::vector<double> one = losses_of_one_process(request);
    ASSERT_EQ(stages.losses.size(), one.size());
    for (std::size_t batch = 0; batch < one.size(); ++batch) {
      EXPECT_NEAR(stages.losses[batch], one[batch], 1e-5 * one[batch]) << "mini-batch " << batch;
    }
    for (int round = 0; round < 2; ++round) {
      const gnn::PipelineRun run = ranks.run();
      EXPECT_EQ(run.losses, stages.losses) << "round " << round;
      EXPECT_GT(run.cpu_s, 0);
      ASSERT_EQ(run.timeline.size(), 3 * request.gpus.size());
      for (const TimelineLane& lane : run.timeline) {
        EXPECT_TRUE(std::is_sorted(lane.begin_s.begin(), lane.begin_s.end())) << lane.stage;
        EXPECT_TRUE(std::is_sorted(lane.end_s.begin(), lane.end_s.end())) << lane.stage;
        EXPECT_GE(lane.begin_s.front(), 0);
        EXPECT_LT(lane.begin_s.front(), lane.end_s.front());
      }
    }
    EXPECT_GT(ranks.gpu_bytes(), 0U);
  }
};

TEST_F(TrainingRanksOnGpu, have_the_losses_of_one_process) {
  const struct {
    Mode mode;
    Store store;
    double hot;
    int window;
    std::optional<gnn::ListPlacement> lists;
  } cases[] = {{Mode::masked, Store::mapped, 0, 1, gnn::ListPlacement::device},
               {Mode::masked, Store::device, 0, 1, gnn::ListPlacement::mapped},
               {Mode::masked, Store::tiered, 20, 1, gnn::ListPlacement::device},
               {Mode::masked, Store::multi_gpu, 30, 1, gnn::ListPlacement::device},
               {Mode::masked, Store::multi_gpu, 100, 1, gnn::ListPlacement::device},
               {Mode::address_ordered, Store::mapped, 0, 2, gnn::ListPlacement::device},
               {Mode::cpu_gather_dma, Store::pinned, 0, 1, gnn::ListPlacement::device},
               {Mode::cpu_gather_dma, Store::pinned, 0, 1, std::nullopt}};
  prepare("kron:12", {10, 10}, 64);
  for (const auto& each : cases) {
    SCOPED_TRACE(testing::Message() << name(each.mode) << " " << name(each.store) << " " << each.hot);
    gnn::PipelineRequest request;
    request.mode = each.mode;
    request.store = each.store;
    request.hot_percent = each.hot;
    request.window = each.window;
    request.lists = each.lists;
    request.gpus = gpus();
    request.threads = 2;
    try {
      expect_right(request);
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

TEST_F(TrainingRanksOnGpu, that_are_killed_are_told_of_and_take_the_others_along) {
  prepare("kron:12", {10, 10}, 64);
  gnn::PipelineRequest request;
  request.store = Store::multi_gpu;
  request.hot_percent = 30;
  request.gpus = gpus();
  for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
    std::unique_ptr<TrainingRanks> ranks;
    try {
      ranks = std::make_unique<TrainingRanks>(plan_, request);
      static_cast<void>(ranks->stages());
    } catch (const SkipError& error) {
      GTEST_SKIP() << error.what();
    }
    const pid_t other = ranks->pid(1 - rank);
    kill(ranks->pid(rank), SIGKILL);
    try {
      static_cast<void>(ranks->run());
      ADD_FAILURE() << "it ran";
    } catch (const FailedError& error) {
      EXPECT_NE(std::string(error.what()).find("rank " + std::to_string(rank) + " was ended by signal 9"),
                std::string::npos)
          << error.what();
    }
    ranks.reset();
    EXPECT_TRUE(kill(other, 0) != 0 && errno == ESRCH) << "the other is left";
  }
}

}  // namespace
// The same as clients of a daemon of MPS: shares, losses, the family's case, and nothing left of it all when
// the program is killed.

namespace {

class PipelineUnderMps : public UnderMps<PipelineProcessesOnGpu> {
 protected:
  [[nodiscard]] int sms_of_a_tenth() override {
    return started(daemon_->client_variables(), {10, 90})->gathering().seen;
  }
};

TEST_F(PipelineUnderMps, has_its_shares_and_the_losses_of_one_process) {
  int before = 0;
  for (const double percent : {5.0, 10.0, 50.0}) {
    SCOPED_TRACE(percent);
    const auto processes = started(daemon_->client_variables(), {percent, 100 - percent});
    EXPECT_GT(processes->gathering().told, before);
    EXPECT_LE(processes->gathering().told, percent / 100 * all_ + 8);
    EXPECT_LE(processes->gathering().seen, processes->gathering().told);
    EXPECT_GE(processes->training().told, (100 - percent) / 100 * all_ - 8);
    before = processes->gathering().told;
    expect_right(*processes);
  }
}

TEST_F(PipelineUnderMps, leaves_nothing_when_the_parent_is_killed) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path told = directory / "pids";
  const std::string beside = (directory / "mps").string();
  std::filesystem::create_directory(beside);
  daemon_.reset();
  test::Child parent = test::Child::of([&] {
    MpsRequest request = request_;
    request.beside = beside;
    const MpsDaemon daemon(request);
    const auto processes = started(daemon.client_variables(), {10, 90});
    test::write_text(told, std::to_string(daemon.guard_pid()) + " " +
                               std::to_string(processes->gathering_pid()) + " " +
                               std::to_string(processes->training_pid()) + " ");
    for (;;) {
      static_cast<void>(processes->run());
    }
    return 0;
  });
  const auto within = [](double seconds, const auto& holds) {
    const double deadline_s = steady_now_s() + seconds;
    while (!holds() && steady_now_s() < deadline_s) {
      usleep(10000);
    }
    return holds();
  };
  ASSERT_TRUE(within(120, [&] { return test::read_text(told).ends_with(' '); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into a run
  parent.send(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  std::istringstream pids(test::read_text(told));
  for (pid_t pid = 0; pids >> pid;) {
    EXPECT_TRUE(within(60,
                       [&] {
                         return (kill(pid, 0) != 0 && errno == ESRCH) ||
                                test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") Z ") !=
                                    std::string::npos;
                       }))
        << pid << " still runs";
  }
  EXPECT_TRUE(within(60, [&] { return std::filesystem::is_empty(beside); }))
      << "the daemon's directory is left";
}

TEST_F(PipelineUnderMps, is_a_case_whose_counters_agree) {
  std::size_t measured = 0;
  daemon_.reset();
  for (const Benchmark& benchmark :
       listed_on("kron:14", pipeline_graphsage(std::make_shared<GnnGraphCache>()), Preset::full)) {
    if (!benchmark.id.name().ends_with("/processes:mps/percent:10")) {
      continue;
    }
    SCOPED_TRACE(benchmark.id.name());
    const auto measurement = run(benchmark);
    ASSERT_TRUE(measurement.has_value());
    ++measured;
    EXPECT_EQ(why_impossible(*measurement), "");
    const auto& counters = measurement->counters;
    EXPECT_LT(counters.at("loss_last"), counters.at("loss_first"));
    EXPECT_LE(counters.at("given_sms"), counters.at("available_sms") / 5);
    EXPECT_GE(counters.at("rest_sms"), counters.at("available_sms") / 2);
    EXPECT_NEAR(counters.at("gather_slowdown"),
                counters.at("gather_beside_s") / counters.at("gather_alone_s"), 1e-9);
    EXPECT_GT(counters.at("train_slowdown"), 0.5);
    EXPECT_NEAR(counters.at("gather_gb_s"),
                static_cast<double>(measurement->bytes) / counters.at("gather_beside_s") / 1e9, 1e-6);
    EXPECT_EQ(*measurement->link_bytes_least, measurement->bytes);
  }
  EXPECT_EQ(measured, 1U);
}

}  // namespace
}  // namespace grainscope::harness
