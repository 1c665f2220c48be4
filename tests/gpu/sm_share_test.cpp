// Parts of a GPU's multiprocessors: what was asked, what the driver says, where blocks really are, and the
// families that share a GPU by them.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "family_fixture.hpp"
#include "gnn/share_worker.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/sm_partition.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope {
namespace {

using cuda::ShareBy;

constexpr int kGpu = 0;

class SmPartitions : public GpuTest {
 protected:
  [[nodiscard]] static int all() { return cuda::sm_count(kGpu); }

  // False where the driver cannot part the GPU so; why_not_ has its words.
  template <class Make>
  bool possible(const Make& make) {
    try {
      make();
      return true;
    } catch (const SkipError& error) {
      why_not_ = error.what();
      return false;
    }
  }

  // A table of a MiB in a few chunks, and lists of its rows.
  void make_table(std::uint32_t row_bytes) {
    reach::SpanRequest request;
    request.memory.home = topology_.usable_nodes().front();
    request.chunk_bytes = 256 * kKiB;
    memory_ = std::make_unique<reach::SpanMemory>(cuda::Surroundings{&topology_}, request);
    memory_->grow(kMiB);
    gnn::StoreRequest store;
    store.row_bytes = row_bytes;
    store.span_bytes = kMiB;
    store_ = gnn::make_feature_store(store, memory_.get(), nullptr);
    lists_.clear();
    for (int list = 0; list < 3; ++list) {
      lists_.push_back(gnn::draw_rows(gnn::Indices::uniform, 5000, store_->shape().rows, 3, list));
    }
  }

  Topology topology_ = Topology::read();
  std::unique_ptr<reach::SpanMemory> memory_;
  std::unique_ptr<gnn::FeatureStore> store_;
  gnn::RowLists lists_;
  std::string why_not_;
};

TEST_F(SmPartitions, green_contexts_have_what_was_asked_and_keep_to_it) {
  for (const int asked : {2, 4, 8, 16, 32}) {
    std::unique_ptr<cuda::SmPartition> part;
    if (!possible([&] { part = cuda::make_partition(kGpu, ShareBy::green_context, asked); })) {
      GTEST_SKIP() << why_not_;
    }
    EXPECT_GE(part->given_sms(), asked);
    EXPECT_LE(part->given_sms(), (asked + 7) / 8 * 8) << "more than the next eight for " << asked;
    EXPECT_EQ(cuda::count_multiprocessors(kGpu, *part), part->given_sms()) << asked;
  }
}

TEST_F(SmPartitions, all_of_the_gpu_is_a_green_context_too) {
  std::unique_ptr<cuda::SmPartition> part;
  if (!possible([&] { part = cuda::make_partition(kGpu, ShareBy::green_context, all()); })) {
    GTEST_SKIP() << why_not_;
  }
  EXPECT_EQ(part->given_sms(), all());
}

TEST_F(SmPartitions, both_sides_of_a_split_are_the_gpu) {
  for (const int asked : {4, 8, 14}) {
    cuda::SmSplit split;
    if (!possible([&] { split = cuda::split_multiprocessors(kGpu, ShareBy::green_context, asked); })) {
      GTEST_SKIP() << why_not_;
    }
    EXPECT_EQ(split.part->given_sms() + split.rest->given_sms(), all()) << asked;
    EXPECT_EQ(cuda::count_multiprocessors(kGpu, *split.part), split.part->given_sms());
    EXPECT_EQ(cuda::count_multiprocessors(kGpu, *split.rest), split.rest->given_sms());
  }
  const cuda::SmSplit capped = cuda::split_multiprocessors(kGpu, ShareBy::grid_cap, 8);
  EXPECT_EQ(capped.part->given_sms(), 8);
  EXPECT_EQ(capped.rest->given_sms(), all() - 8);
}

TEST_F(SmPartitions, without_a_limit_blocks_are_everywhere_and_few_blocks_on_few) {
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  EXPECT_EQ(whole->given_sms(), all());
  EXPECT_EQ(cuda::count_multiprocessors(kGpu, *whole), all());
  EXPECT_LE(cuda::count_multiprocessors(kGpu, *whole, 4), 4);
  EXPECT_GE(cuda::count_multiprocessors(kGpu, *whole, 4), 1);
}

TEST_F(SmPartitions, what_cannot_be_is_refused) {
  for (const ShareBy by : {ShareBy::green_context, ShareBy::grid_cap}) {
    EXPECT_THROW(static_cast<void>(cuda::make_partition(kGpu, by, 0)), UsageError);
    EXPECT_THROW(static_cast<void>(cuda::make_partition(kGpu, by, all() + 1)), UsageError);
  }
  EXPECT_THROW(static_cast<void>(cuda::split_multiprocessors(kGpu, ShareBy::grid_cap, all())), UsageError);
  EXPECT_THROW(static_cast<void>(cuda::split_multiprocessors(kGpu, ShareBy::mps_percentage, 8)), UsageError);
}

TEST_F(SmPartitions, gathers_in_a_part_are_right_for_every_width) {
  make_table(528);
  std::unique_ptr<cuda::SmPartition> part;
  if (!possible([&] { part = cuda::make_partition(kGpu, ShareBy::green_context, 8); })) {
    GTEST_SKIP() << why_not_;
  }
  std::vector<std::pair<gnn::Mode, std::uint32_t>> ways{
      {gnn::Mode::masked, 4}, {gnn::Mode::masked, 8}, {gnn::Mode::masked, 16}};
  if (has_bulk()) {
    ways.emplace_back(gnn::Mode::bulk, gnn::kBulkUnitBytes);
  }
  for (const auto& [mode, width] : ways) {
    SCOPED_TRACE(testing::Message() << name(mode) << ", " << width);
    const auto work = gnn::make_gather_work(*store_, lists_, mode, width, *part);
    EXPECT_GT(work->blocks(), 0);
    EXPECT_EQ(work->blocks() % part->given_sms(), 0);
    gnn::SharedRun run({work.get()});
    for (int i = 0; i < 4; ++i) {
      EXPECT_GT(sample(run), 0);
    }
    EXPECT_EQ(work->verify(), "every byte of every sample's output against the table's closed form");
  }
}

TEST_F(SmPartitions, wrong_bytes_and_work_that_never_ran_are_caught) {
  make_table(512);
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  const auto idle = gnn::make_gather_work(*store_, lists_, gnn::Mode::masked, 16, *whole);
  gnn::SharedRun run({idle.get()});
  EXPECT_THROW(static_cast<void>(idle->verify()), FailedError);
  EXPECT_THROW(static_cast<void>(gnn::make_product_work(kGpu, 1, *whole)->verify()), FailedError);
  EXPECT_THROW(static_cast<void>(gnn::make_product_work(kGpu, 0, *whole)), UsageError);
  const std::uint32_t row = lists_[0][7];
  auto* byte = const_cast<std::byte*>(store_->view().row(row));
  *byte ^= std::byte{1};
  static_cast<void>(sample(run));
  EXPECT_THROW(static_cast<void>(idle->verify()), FailedError);
}

TEST_F(SmPartitions, a_gather_and_products_are_right_beside_each_other) {
  make_table(1024);
  for (const ShareBy by : {ShareBy::unlimited, ShareBy::grid_cap, ShareBy::green_context}) {
    cuda::SmSplit split;
    if (!possible([&] { split = cuda::split_multiprocessors(kGpu, by, 8); })) {
      GTEST_SKIP() << why_not_;
    }
    const auto gather = gnn::make_gather_work(*store_, lists_, gnn::Mode::masked, 16, *split.part);
    const auto products = gnn::make_product_work(kGpu, 3, *split.rest);
    gnn::SharedRun both({gather.get(), products.get()});
    for (int i = 0; i < 4; ++i) {
      const double seconds = sample(both);
      const std::vector<double>& each = both.seconds();
      EXPECT_GT(each[0], 0);
      EXPECT_GT(each[1], 0);
      EXPECT_GE(seconds, std::max(each[0], each[1]));
      EXPECT_LE(seconds, each[0] + each[1] + 1e-3);
    }
    EXPECT_FALSE(gather->verify().empty());
    EXPECT_EQ(products->verify(), "every element of every sample's last product");
  }
}

TEST_F(SmPartitions, a_gather_and_training_steps_are_right_beside_each_other) {
  make_table(1024);
  gnn::TrainingRequest request;
  request.sample = {{10, 25}, 1};
  request.batch = 200;
  request.labelled_percent = 50;
  request.shape = {64, 32, 8, 2};
  request.rate = 1;
  const auto batch =
      gnn::make_fixed_batch(graph::make_graph(graph::parse_graph_spec("kron:12"), false), request);
  for (const ShareBy by : {ShareBy::unlimited, ShareBy::grid_cap, ShareBy::green_context}) {
    SCOPED_TRACE(name(by));
    cuda::SmSplit split;
    if (!possible([&] { split = cuda::split_multiprocessors(kGpu, by, 8); })) {
      GTEST_SKIP() << why_not_;
    }
    const auto gather = gnn::make_gather_work(*store_, lists_, gnn::Mode::masked, 16, *split.part);
    const auto steps = gnn::make_step_work(kGpu, *batch, gnn::kMostSteps, *split.rest);
    gnn::SharedRun alone({steps.get()});
    EXPECT_GT(sample(alone), 0);
    gnn::SharedRun both({gather.get(), steps.get()});
    for (int i = 0; i < 4; ++i) {
      const double seconds = sample(both);
      const std::vector<double>& each = both.seconds();
      EXPECT_GT(each[0], 0);
      EXPECT_GT(each[1], 0);
      EXPECT_GE(seconds, std::max(each[0], each[1]));
    }
    EXPECT_FALSE(gather->verify().empty());
    EXPECT_NE(steps->verify().find("bit for bit"), std::string::npos);
  }
}

TEST_F(SmPartitions, training_steps_that_never_ran_or_went_wrong_are_caught) {
  gnn::TrainingRequest request;
  request.sample = {{5, 5}, 1};
  request.batch = 50;
  request.labelled_percent = 50;
  request.shape = {16, 8, 4, 2};
  auto batch = gnn::make_fixed_batch(graph::make_graph(graph::parse_graph_spec("kron:9"), false), request);
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  EXPECT_THROW(static_cast<void>(gnn::make_step_work(kGpu, *batch, 0, *whole)), UsageError);
  EXPECT_THROW(static_cast<void>(gnn::make_step_work(kGpu, *batch, gnn::kMostSteps + 1, *whole)), UsageError);
  const auto steps = gnn::make_step_work(kGpu, *batch, 2, *whole);
  EXPECT_THROW(static_cast<void>(steps->verify()), FailedError);
  // A sample whose steps were not enqueued leaves the first parameters.
  steps->prepare();
  steps->check();
  EXPECT_THROW(static_cast<void>(steps->verify()), FailedError);
  batch->losses[1] *= 1.001;
  EXPECT_THROW(static_cast<void>(gnn::make_step_work(kGpu, *batch, 2, *whole)), FailedError);
}

TEST_F(SmPartitions, work_begins_at_a_moment_of_the_steady_clock) {
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  const auto products = gnn::make_product_work(kGpu, 2, *whole);
  gnn::SharedRun run({products.get()});
  run.get_ready();
  const double start_s = steady_now_s() + 0.01;
  const gnn::ShareTimes times = run.run_at(start_s);
  EXPECT_GE(times.begun_s, start_s);
  EXPECT_GE(times.opened_s, times.begun_s);
  EXPECT_LT(times.opened_s, start_s + 0.005);
  EXPECT_GT(times.ended_s, times.opened_s);
  EXPECT_GE(times.ended_s - times.begun_s, times.seconds * 0.99);
  EXPECT_FALSE(products->verify().empty());
}

TEST_F(SmPartitions, work_that_takes_long_to_enqueue_begins_at_its_moment) {
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  // A launch each, which take longer than what is left until the moment.
  const auto products = gnn::make_product_work(kGpu, 500, *whole);
  gnn::SharedRun run({products.get()});
  double late_s = 1;
  for (int i = 0; i < 8; ++i) {
    run.get_ready();
    const double start_s = steady_now_s() + 5e-4;
    late_s = std::min(late_s, run.run_at(start_s).opened_s - start_s);
  }
  EXPECT_GE(late_s, 0);
  EXPECT_LT(late_s, 5e-5);
}

TEST_F(SmPartitions, a_run_that_goes_away_opens_its_gate) {
  const auto whole = cuda::make_partition(kGpu, ShareBy::unlimited, all());
  const auto products = gnn::make_product_work(kGpu, 2, *whole);
  const double before_s = steady_now_s();
  {
    gnn::SharedRun run({products.get()});
    run.get_ready();
  }
  products->stream().synchronize();
  // The gate would give up after 5 s.
  EXPECT_LT(steady_now_s() - before_s, 2);
}

}  // namespace
}  // namespace grainscope

// sm_share/gather and sm_share/split as the suite runs them, and clients of a daemon of the test's own.

namespace grainscope::harness {
namespace {

using cuda::ShareBy;

class SmShareFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family) {
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (!measurement) {
        continue;
      }
      ++measured_;
      EXPECT_EQ(why_impossible(*measurement), "");
      const auto& counters = measurement->counters;
      EXPECT_GE(counters.at("given_sms"), 1);
      EXPECT_LE(counters.at("given_sms"), counters.at("available_sms"));
      EXPECT_GT(*measurement->link_bytes_least, 0U);
      EXPECT_TRUE(measurement->link_peak_gb_s.has_value());
      expect_lanes(*measurement);
    }
  }

  static void expect_lanes(const Measurement& measurement) {
    for (const LaneResult& lane : measurement.lanes) {
      ASSERT_EQ(lane.seconds.size(), measurement.samples.seconds.size());
      for (std::size_t i = 0; i < lane.seconds.size(); ++i) {
        EXPECT_LE(lane.seconds[i], measurement.samples.seconds[i] * 1.001) << lane.name;
      }
      EXPECT_GT(lane.alone_s.value_or(0), 0) << lane.name;
    }
    if (!measurement.lanes.empty()) {
      EXPECT_EQ(measurement.lanes.size(), 2U);
      EXPECT_GT(measurement.counters.at("rest_sms"), 0);
      EXPECT_GT(measurement.counters.at("gather_slowdown"), 0.5);
      EXPECT_GT(measurement.counters.at("compute_slowdown"), 0.5);
      EXPECT_LE(measurement.overlap.value_or(2), 1);
    }
  }

  static bool no_directory_is_left() {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
      if (entry.path().filename().string().starts_with("grainscope-mps-")) {
        return false;
      }
    }
    return true;
  }

  std::size_t measured_ = 0;
};

TEST_F(SmShareFamilies, every_gather_of_the_smoke_preset_measures) {
  expect_all_to_measure(sm_share_gather());
  EXPECT_GT(measured_, 0U);
  EXPECT_TRUE(no_directory_is_left());
}

TEST_F(SmShareFamilies, every_split_of_the_smoke_preset_measures) {
  expect_all_to_measure(sm_share_split());
  EXPECT_GT(measured_, 0U);
}

class MpsClients : public UnderMps<SmShareFamilies> {
 protected:
  [[nodiscard]] int sms_of_a_tenth() override {
    return ShareWorker(products(ShareBy::mps_percentage, 10), daemon_->client_variables()).seen_sms();
  }

  [[nodiscard]] ShareJob products(ShareBy by, double percent) const {
    ShareJob job;
    job.by = by;
    job.percent = percent;
    job.sms = static_cast<int>(percent / 100 * all_);
    job.node = machine_->topology.usable_nodes().front();
    job.products = 2;
    return job;
  }
  [[nodiscard]] ShareJob gather(ShareBy by, double percent) const {
    ShareJob job = products(by, percent);
    job.products = 0;
    job.width = 16;
    job.row_bytes = 1024;
    job.rows = 4096;
    job.span_bytes = 16 * kMiB;
    return job;
  }
};

TEST_F(MpsClients, have_the_percentage_that_was_asked_and_are_right) {
  int before = 0;
  for (const double percent : {5.0, 25.0, 50.0}) {
    ShareWorker worker(gather(ShareBy::mps_percentage, percent), daemon_->client_variables());
    EXPECT_GT(worker.seen_sms(), before) << percent;
    EXPECT_LE(worker.seen_sms(), percent / 100 * all_ + 8) << percent;
    EXPECT_EQ(worker.seen_sms(), worker.given_sms()) << percent;
    before = worker.seen_sms();
    EXPECT_GT(worker.alone(), 0);
    EXPECT_FALSE(worker.verify().empty());
  }
}

TEST_F(MpsClients, have_contexts_of_so_many_multiprocessors_where_the_driver_makes_them) {
  try {
    ShareWorker worker(gather(ShareBy::exec_affinity, 10), daemon_->client_variables());
    EXPECT_GE(worker.given_sms(), all_ / 10);
    EXPECT_LE(worker.given_sms(), all_ / 10 + 8);
    EXPECT_EQ(worker.seen_sms(), worker.given_sms());
    EXPECT_GT(worker.alone(), 0);
    EXPECT_FALSE(worker.verify().empty());
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
}

TEST_F(MpsClients, of_both_sides_run_at_once) {
  ShareWorker producer(gather(ShareBy::mps_percentage, 10), daemon_->client_variables());
  ShareWorker consumer(products(ShareBy::mps_percentage, 90), daemon_->client_variables());
  for (int sample = 0; sample < 3; ++sample) {
    const SidesTimes times = run_together(producer, consumer);
    EXPECT_GE(times.seconds, times.first.seconds);
    EXPECT_GE(times.seconds, times.second.seconds);
    EXPECT_LT(times.seconds, 1);
  }
  EXPECT_FALSE(producer.verify().empty());
  EXPECT_FALSE(consumer.verify().empty());
}

TEST_F(MpsClients, that_train_are_right_beside_one_that_gathers) {
  ShareWorker producer(gather(ShareBy::mps_percentage, 10), daemon_->client_variables());
  ShareJob job = products(ShareBy::mps_percentage, 90);
  job.products = 0;
  job.steps = 4;
  ShareWorker consumer(job, daemon_->client_variables());
  EXPECT_GT(consumer.given_sms(), all_ / 2);
  for (int sample = 0; sample < 3; ++sample) {
    const SidesTimes times = run_together(producer, consumer);
    EXPECT_GE(times.seconds, times.second.seconds);
    EXPECT_LT(times.seconds, 1);
  }
  EXPECT_FALSE(producer.verify().empty());
  EXPECT_NE(consumer.verify().find("bit for bit"), std::string::npos);
}

TEST_F(MpsClients, that_are_killed_are_told_of_and_leave_nothing) {
  ShareWorker worker(products(ShareBy::mps_percentage, 50), daemon_->client_variables());
  kill(worker.pid(), SIGKILL);
  try {
    static_cast<void>(worker.alone());
    FAIL() << "it answered";
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find("signal 9"), std::string::npos) << error.what();
  }
  const std::filesystem::path directory = daemon_->directory();
  daemon_->stop();
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace grainscope::harness
