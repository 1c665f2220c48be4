// Parts of a GPU's multiprocessors: what was asked, what the driver says, and where blocks really are.

#include "grainscope/cuda/sm_partition.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
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
    request.home = topology_.usable_nodes().front();
    request.chunk_bytes = 256 * kKiB;
    memory_ = std::make_unique<reach::SpanMemory>(topology_, request);
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
  for (const std::uint32_t width : {4U, 8U, 16U}) {
    const auto work = gnn::make_gather_work(*store_, lists_, width, *part);
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
  const auto idle = gnn::make_gather_work(*store_, lists_, 16, *whole);
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
    const auto gather = gnn::make_gather_work(*store_, lists_, 16, *split.part);
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
    const auto gather = gnn::make_gather_work(*store_, lists_, 16, *split.part);
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
