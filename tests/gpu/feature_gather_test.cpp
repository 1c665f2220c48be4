// Gathers from every store: every kernel against the CPU, and what timed gathers check, refuse and tell.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/reach/span_memory.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::gnn {
inline constexpr std::uint64_t kChunk = 2 * kMiB;  // small, so that tables lie in several
inline constexpr std::uint64_t kSpan = 5 * kChunk;
inline constexpr std::uint32_t kOddRows[] = {4,   6,   16,   60,   64,   128,  132,   188,
                                             400, 512, 1028, 1030, 1040, 2312, 12304, 16384};

class FeatureGather : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      take(cuda::MemoryKind::host_alloc);
    }
  }

  // The memory of the host's rows from here on.
  void take(cuda::MemoryKind kind) {
    reach::SpanRequest request;
    request.memory.kind = kind;
    request.memory.home = topology_.usable_nodes().front();
    request.chunk_bytes = kChunk;
    memory_ = std::make_unique<reach::SpanMemory>(cuda::Surroundings{&topology_, &budget_}, request);
    memory_->grow(kSpan);
  }

  [[nodiscard]] static StoreRequest request_of(Store store, std::uint32_t row_bytes) {
    StoreRequest request;
    request.store = store;
    request.row_bytes = row_bytes;
    request.span_bytes = store == Store::managed ? kMiB : kSpan;
    if (store == Store::tiered || store == Store::multi_gpu) {
      request.hot_percent = 30;
    }
    if (store == Store::multi_gpu) {
      request.replicated_percent = 10;
      request.gpus = reachable_gpus();
    }
    return request;
  }

  [[nodiscard]] std::unique_ptr<FeatureStore> store_of(const StoreRequest& request) {
    return make_feature_store(request, memory_.get(), &budget_);
  }
  [[nodiscard]] std::unique_ptr<FeatureStore> store_of(Store store, std::uint32_t row_bytes) {
    return store_of(request_of(store, row_bytes));
  }

  [[nodiscard]] static RowLists lists_of(const FeatureStore& store, std::uint64_t rows, int lists = 2) {
    RowLists result;
    for (int list = 0; list < lists; ++list) {
      result.push_back(
          draw_rows(list % 2 == 0 ? Indices::uniform : Indices::zipf, rows, store.shape().rows, 7, list));
    }
    return result;
  }

  // What the table's closed form has in a list's rows.
  [[nodiscard]] static std::vector<std::uint16_t> expected(const TableShape& table,
                                                           const std::vector<std::uint32_t>& rows) {
    std::vector<std::uint16_t> halves;
    for (const std::uint32_t row : rows) {
      const TableShape::Contents contents = table.contents(row);
      for (std::uint64_t half = 0; half < table.row_bytes / 2; ++half) {
        halves.push_back(pattern_half(contents.first_byte / 2 + half, contents.seed));
      }
    }
    return halves;
  }

  // Widths that a mode may load from rows of 4- or 2-byte elements.
  [[nodiscard]] static std::vector<std::uint32_t> widths_of(Mode mode, std::uint32_t row_bytes) {
    std::vector<std::uint32_t> widths;
    if (mode == Mode::bulk && !has_bulk()) {
      return widths;
    }
    for (const std::uint32_t width : {2U, 4U, 8U, 16U}) {
      const std::uint32_t element =
          (mode == Mode::naive || mode == Mode::circular_shift) && width <= 4 ? width : 2;
      if (may_load(mode, row_bytes, element, width)) {
        widths.push_back(width);
      }
    }
    return widths;
  }

  // The timed gather, which checks itself on the GPU.
  static void expect_right(FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
    SCOPED_TRACE(std::string(name(request.mode)) + " of " + std::to_string(lists.front().size()) +
                 " rows of " + std::to_string(store.shape().row_bytes) + " by " +
                 std::to_string(request.width) + " from " + name(store.request().store));
    const auto gather = make_gather(store, lists, request);
    for (std::size_t turn = 0; turn < lists.size() + 1; ++turn) {
      EXPECT_GT(sample(*gather), 0);
    }
    EXPECT_FALSE(gather->verify().empty());
  }

  // A kernel's output, copied back and compared by the CPU.
  static void expect_kernel_right(FeatureStore& store, Mode mode, std::uint32_t width,
                                  const std::vector<std::uint32_t>& rows, int blocks = 0,
                                  bool sorted = false) {
    SCOPED_TRACE(std::string(name(mode)) + " of " + std::to_string(rows.size()) + " rows of " +
                 std::to_string(store.shape().row_bytes) + " by " + std::to_string(width) + " from " +
                 name(store.request().store));
    const cuda::Stream stream;
    const std::uint64_t bytes = rows.size() * store.shape().row_bytes;
    const cuda::DeviceBuffer list(0, rows.size() * 4);
    // Behind the output a guard that nothing may write to.
    const cuda::DeviceBuffer out(0, bytes + 256);
    cuda::check(cudaMemcpy(list.data(), rows.data(), rows.size() * 4, cudaMemcpyHostToDevice), "copy rows");
    cuda::check(cudaMemset(out.data(), 0xee, out.bytes()), "overwrite an output");
    const GatherKernel kernel(store.view(), mode, width, 0, blocks);
    AddressOrder order(0, rows.size(), store.shape().rows);
    const auto* listed = static_cast<const std::uint32_t*>(list.data());
    auto* to = static_cast<std::byte*>(out.data());
    kernel.launch(sorts(mode) || sorted ? order.sort(listed, rows.size(), to, stream)
                                        : GatherLists{listed, nullptr, rows.size(), to},
                  stream);
    stream.synchronize();
    std::vector<std::uint16_t> found(out.bytes() / 2);
    cuda::check(cudaMemcpy(found.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost), "read an output");
    std::vector<std::uint16_t> wanted = expected(store.shape(), rows);
    wanted.resize(found.size(), 0xeeee);
    EXPECT_TRUE(found == wanted) << "first difference in row "
                                 << static_cast<std::uint64_t>(
                                        std::mismatch(found.begin(), found.end(), wanted.begin()).first -
                                        found.begin()) *
                                        2 / store.shape().row_bytes;
  }

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
  std::unique_ptr<reach::SpanMemory> memory_;
};

inline constexpr Mode kKernelModes[] = {Mode::naive,  Mode::circular_shift,  Mode::masked,
                                        Mode::vector, Mode::address_ordered, Mode::graphbolt,
                                        Mode::bulk};
inline constexpr Store kKernelStores[] = {Store::mapped, Store::managed, Store::device, Store::tiered,
                                          Store::multi_gpu};

// Timed gathers: what they check, refuse and tell.

namespace {

TEST_F(FeatureGather, timed_gathers_of_every_mode_check_what_they_deliver) {
  for (const Mode mode : kAllModes) {
    for (const Store store_kind : kAllStores) {
      if (!can_read(mode, store_kind)) {
        continue;
      }
      for (const std::uint32_t row_bytes : {6U, 128U, 1028U, 4096U}) {
        const auto store = store_of(store_kind, row_bytes);
        const std::vector<std::uint32_t> widths = widths_of(mode, row_bytes);
        if (mode == Mode::bulk && widths.empty()) {
          continue;
        }
        expect_right(*store, lists_of(*store, 500), {mode, widths.empty() ? 4 : widths.back(), 0, 3});
      }
    }
  }
}

TEST_F(FeatureGather, rows_of_managed_memory_on_the_host_are_gathered_by_every_mode) {
  try {
    take(cuda::MemoryKind::managed_host);
  } catch (const SkipError& error) {
    GTEST_SKIP() << error.what();
  }
  for (const Mode mode : kAllModes) {
    // Copies from managed memory wait for the stream, and so for the gate.
    if (mode == Mode::row_dma) {
      continue;
    }
    for (const Store store_kind : {Store::pinned, Store::mapped, Store::tiered, Store::multi_gpu}) {
      if (!can_read(mode, store_kind)) {
        continue;
      }
      for (const std::uint32_t row_bytes : {6U, 128U, 1028U}) {
        const auto store = store_of(store_kind, row_bytes);
        const std::vector<std::uint32_t> widths = widths_of(mode, row_bytes);
        if (is_kernel(mode) && widths.empty()) {
          continue;
        }
        expect_right(*store, lists_of(*store, 500), {mode, widths.empty() ? 4 : widths.back(), 0, 3});
        EXPECT_NO_THROW(memory_->expect_on_host()) << name(mode) << ", " << name(store_kind);
      }
    }
  }
}

TEST_F(FeatureGather, shares_of_neighbours_come_to_the_gpu_that_asked) {
  if (reachable_gpus().size() < 2) {
    GTEST_SKIP() << "needs two GPUs that reach each other";
  }
  std::vector<int> neighbours = reachable_gpus();
  neighbours.erase(neighbours.begin());
  try {
    for (const Mode mode : kAllModes) {
      for (const std::uint32_t row_bytes : {6U, 128U, 1028U}) {
        const std::vector<std::uint32_t> widths = widths_of(mode, row_bytes);
        if (!is_kernel(mode) || widths.empty()) {
          continue;
        }
        const auto store = store_of(Store::mapped, row_bytes);
        // Rows for one GPU alone, and for all with a rest.
        for (const std::uint64_t rows : {50U, 500U, 20'011U}) {
          expect_right(*store, lists_of(*store, rows), {mode, widths.back(), 0, 1, neighbours});
        }
      }
    }
    const auto store = store_of(Store::mapped, 128);
    const auto timing = [&](std::uint64_t rows) {
      return make_gather(*store, lists_of(*store, rows), {Mode::masked, 16, 0, 1, neighbours})->timing();
    };
    EXPECT_TRUE(timing(20'011).gated);
    EXPECT_NE(timing(20'011).timed.find("on each GPU"), std::string::npos);
    EXPECT_EQ(timing(50).timed.find("on each GPU"), std::string::npos);  // too few to share
  } catch (const SkipError& skip) {
    GTEST_SKIP() << skip.what();
  }
}

TEST_F(FeatureGather, neighbours_are_others_and_gather_by_kernels) {
  const auto store = store_of(Store::mapped, 128);
  const auto refused = [&](FeatureStore& from, const GatherRequest& request) {
    EXPECT_THROW(static_cast<void>(make_gather(from, lists_of(from, 500), request)), UsageError);
  };
  refused(*store, {Mode::masked, 16, 0, 1, {0}});
  refused(*store, {Mode::masked, 16, 0, 1, {1, 1}});
  refused(*store_of(Store::tiered, 128), {Mode::masked, 16, 0, 1, {1}});
  refused(*store_of(Store::pinned, 128), {Mode::cpu_gather_dma, 4, 0, 1, {1}});
}

TEST_F(FeatureGather, staged_pieces_and_many_copies_are_right_too) {
  // More than two buffers of 4 MiB, and more copies than stand behind a gate.
  for (const Store store_kind : {Store::pinned, Store::pageable}) {
    const auto store = store_of(store_kind, 1028);
    expect_right(*store, lists_of(*store, 20'011), {Mode::cpu_gather_dma, 4, 0, 2});
  }
  const auto store = store_of(Store::pinned, 4096);
  expect_right(*store, lists_of(*store, 1500), {Mode::row_dma, 4, 0, 1});
  EXPECT_TRUE(make_gather(*store, lists_of(*store, 512), {Mode::row_dma, 4, 0, 1})->timing().gated);
  EXPECT_FALSE(make_gather(*store, lists_of(*store, 513), {Mode::row_dma, 4, 0, 1})->timing().gated);
}

TEST_F(FeatureGather, sorted_rows_come_with_the_positions_that_asked_for_them) {
  const auto rows = draw_rows(Indices::zipf, 10'000, 5000, 1, 0);
  const cuda::DeviceBuffer list(0, rows.size() * 4);
  cuda::check(cudaMemcpy(list.data(), rows.data(), rows.size() * 4, cudaMemcpyHostToDevice), "copy rows");
  const cuda::Stream stream;
  AddressOrder order(0, rows.size(), 5000);
  // Twice, and fewer the second time: the scratch memory holds nothing over.
  for (const std::uint64_t count : {rows.size(), rows.size() / 3}) {
    const GatherLists sorted =
        order.sort(static_cast<const std::uint32_t*>(list.data()), count, nullptr, stream);
    stream.synchronize();
    std::vector<std::uint32_t> by_address(count);
    std::vector<std::uint32_t> positions(count);
    cuda::check(cudaMemcpy(by_address.data(), sorted.rows, count * 4, cudaMemcpyDeviceToHost), "read rows");
    cuda::check(cudaMemcpy(positions.data(), sorted.positions, count * 4, cudaMemcpyDeviceToHost),
                "read positions");
    EXPECT_TRUE(std::is_sorted(by_address.begin(), by_address.end()));
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(by_address[i], rows.at(positions[i]));
    }
    std::sort(positions.begin(), positions.end());
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(positions, all);
  }
}

TEST_F(FeatureGather, one_wrong_byte_of_the_table_is_caught_and_the_row_named) {
  const auto store = store_of(Store::mapped, 1028);
  RowLists lists{{5, 7, 9}};
  const TableShape::Location place = store->shape().locate(7);
  auto* byte = static_cast<std::uint8_t*>(memory_->host_chunks().at(place.part)) +
               std::uint64_t{place.row} * 1028 + 1027;
  *byte ^= 1;
  for (const Mode mode : {Mode::masked, Mode::naive, Mode::graphbolt}) {
    const auto gather = make_gather(*store, lists, {mode, 4, 0, 1});
    static_cast<void>(sample(*gather));
    try {
      static_cast<void>(gather->verify());
      FAIL() << "a wrong byte was not found by " << name(mode);
    } catch (const FailedError& error) {
      EXPECT_NE(std::string(error.what()).find("row 1 of a gather's output"), std::string::npos)
          << error.what();
    }
  }
  *byte ^= 1;
  const auto gather = make_gather(*store, lists, {Mode::masked, 4, 0, 1});
  static_cast<void>(sample(*gather));
  EXPECT_NO_THROW(static_cast<void>(gather->verify()));
}

TEST_F(FeatureGather, what_gpus_keep_of_a_table_was_timed_being_filled) {
  for (const Store store_kind : kAllStores) {
    const auto store = store_of(store_kind, 512);
    const bool partly = store_kind == Store::tiered || store_kind == Store::multi_gpu;
    ASSERT_EQ(store->fill_s().has_value(), partly) << name(store_kind);
    if (partly) {
      // 3 MiB and more: below 200 GB/s on any link, above 100 MB/s.
      EXPECT_GT(*store->fill_s(), 0.3 * kSpan / 200e9);
      EXPECT_LT(*store->fill_s(), kSpan / 100e6);
    }
  }
  StoreRequest all = request_of(Store::tiered, 512);
  all.hot_percent = 100;
  EXPECT_FALSE(store_of(all)->fill_s()) << "no rows are left on the host to copy from";
  all.hot_percent = 0;
  EXPECT_FALSE(store_of(all)->fill_s());
}

TEST_F(FeatureGather, a_gather_that_never_ran_is_caught) {
  const auto store = store_of(Store::device, 128);
  const auto gather = make_gather(*store, lists_of(*store, 10), {Mode::masked, 16, 0, 1});
  EXPECT_THROW(static_cast<void>(gather->verify()), FailedError);
}

TEST_F(FeatureGather, what_cannot_be_is_refused_before_anything_is_launched) {
  const auto store = store_of(Store::mapped, 1028);
  const std::uint32_t beyond = store->shape().rows;
  try {
    static_cast<void>(make_gather(*store, {{0, beyond}}, {Mode::masked, 4, 0, 1}));
    FAIL() << "a row beyond the table was taken";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "index 1 of a gather asks for row " + std::to_string(beyond) +
                                             " of a table of " + std::to_string(beyond) + " rows");
  }
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{0}}, {Mode::masked, 16, 0, 1})), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{0}}, {Mode::row_dma, 4, 0, 1})), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {}, {Mode::masked, 4, 0, 1})), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{0}, {0, 1}}, {Mode::masked, 4, 0, 1})), UsageError);
  StoreRequest larger = request_of(Store::mapped, 128);
  larger.span_bytes = 2 * kSpan;
  EXPECT_THROW(static_cast<void>(store_of(larger)), UsageError);
  larger.store = Store::managed;
  larger.span_bytes = std::uint64_t{1} << 42;
  EXPECT_THROW(static_cast<void>(store_of(larger)), SkipError);
}

TEST_F(FeatureGather, a_managed_table_is_on_the_host_before_each_sample) {
  const auto store = store_of(Store::managed, 512);
  const auto gather = make_gather(*store, lists_of(*store, 100), {Mode::masked, 16, 0, 1});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_GT(sample(*gather), 0);
  }
  EXPECT_FALSE(gather->verify().empty());
  Measurement measurement;
  gather->describe(measurement);
  if (const auto moved = measurement.link_bytes_least) {
    EXPECT_GT(*moved, 0U);
    EXPECT_LE(*moved, kMiB);
  }
}

TEST_F(FeatureGather, a_managed_table_leaves_the_host_only_where_its_hint_lets_it) {
  for (const cuda::Hint hint : cuda::kHints) {
    SCOPED_TRACE(cuda::name(hint));
    StoreRequest request = request_of(Store::managed, 512);
    request.hint = hint;
    const auto store = store_of(request);
    const auto gather = make_gather(*store, lists_of(*store, 100), {Mode::masked, 16, 0, 1});
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_GT(sample(*gather), 0);
    }
    EXPECT_FALSE(gather->verify().empty());
    EXPECT_EQ(gather->timing().gated, hint != cuda::Hint::prefetch);
    Measurement measurement;
    gather->describe(measurement);
    if (!measurement.counters.contains("moved_bytes")) {
      GTEST_SKIP() << "the system does not tell where pages live";
    }
    const double moved = measurement.counters.at("moved_bytes");
    if (hint == cuda::Hint::prefetch) {
      EXPECT_GE(moved, static_cast<double>(kMiB)) << "all of the table, whatever is asked of it";
    } else if (cuda::migrates(hint)) {
      EXPECT_GT(moved, 0);
    } else {
      EXPECT_EQ(moved, 0) << "a page left the host";
    }
  }
}

TEST_F(FeatureGather, a_managed_table_to_be_read_in_place_that_left_the_host_is_found_out) {
  StoreRequest request = request_of(Store::managed, 512);
  request.hint = cuda::Hint::accessed_by;
  const auto store = store_of(request);
  store->make_cold();
  if (!store->moved_bytes()) {
    GTEST_SKIP() << "the system does not tell where pages live";
  }
  EXPECT_EQ(store->moved_bytes(), std::optional<std::uint64_t>(0));
  const cuda::Stream stream;
  cuda::check(cuda::prefetch(store->view().local, request.span_bytes, cuda::Location::gpu(0), stream.get()),
              "prefetch a table");
  stream.synchronize();
  EXPECT_THROW(static_cast<void>(store->moved_bytes()), FailedError);
}

TEST_F(FeatureGather, only_modes_that_sort_tell_how_long_that_takes) {
  const auto store = store_of(Store::mapped, 128);
  for (const Mode mode : kKernelModes) {
    if (widths_of(mode, 128).empty()) {
      continue;
    }
    const std::uint32_t width = mode == Mode::naive || mode == Mode::circular_shift ? 4 : 16;
    const auto gather = make_gather(*store, lists_of(*store, 4096), {mode, width, 0, 1});
    static_cast<void>(sample(*gather));
    Measurement measurement;
    gather->describe(measurement);
    EXPECT_EQ(measurement.counters.contains("sort_s"), sorts(mode)) << name(mode);
    EXPECT_TRUE(gather->timing().gated);
  }
}

}  // namespace
// Every kernel from every store against the CPU.

namespace {

TEST_F(FeatureGather, every_kernel_from_every_store_gives_what_the_cpu_expects) {
  for (const Store store_kind : kKernelStores) {
    for (const std::uint32_t row_bytes : kOddRows) {
      const auto store = store_of(store_kind, row_bytes);
      const auto rows = draw_rows(Indices::uniform, 777, store->shape().rows, 3, 0);
      for (const Mode mode : kKernelModes) {
        for (const std::uint32_t width : widths_of(mode, row_bytes)) {
          expect_kernel_right(*store, mode, width, rows);
        }
      }
    }
  }
}

TEST_F(FeatureGather, without_a_gate_kernels_give_the_same) {
  const auto store = store_of(Store::mapped, 132);
  for (const Mode mode : {Mode::masked, Mode::address_ordered}) {
    const auto gather = make_gather(*store, lists_of(*store, 777), {mode, 4, 0, 1});
    EXPECT_THROW(static_cast<void>(gather->verify()), FailedError) << "nothing was gathered yet";
    gather->prepare();
    gather->run_counted();
    EXPECT_FALSE(gather->verify().empty());
  }
}

TEST_F(FeatureGather, odd_numbers_of_rows_and_few_blocks_are_right_too) {
  for (const std::uint32_t row_bytes : {4U, 6U, 132U, 1028U, 1030U, 4096U}) {
    const auto store = store_of(Store::mapped, row_bytes);
    for (const std::uint64_t count : {1U, 2U, 31U, 33U, 1023U, 20'011U}) {
      const auto rows = draw_rows(Indices::zipf, count, store->shape().rows, 5, 0);
      for (const Mode mode : kKernelModes) {
        if (widths_of(mode, row_bytes).empty()) {
          continue;
        }
        const bool narrow = mode == Mode::naive || mode == Mode::circular_shift;
        const std::uint32_t element = row_bytes % 4 == 0 ? 4 : 2;
        const std::uint32_t width = narrow ? element : widest_load(mode, row_bytes);
        expect_kernel_right(*store, mode, width, rows);
        expect_kernel_right(*store, mode, width, rows, 1);
      }
    }
  }
}

TEST_F(FeatureGather, rows_in_bulk_go_where_a_sort_says) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  for (const std::uint32_t row_bytes : {64U, 400U, 8192U, 12304U}) {
    const auto store = store_of(Store::tiered, row_bytes);
    for (const std::uint64_t count : {1U, 33U, 1023U}) {
      const auto rows = draw_rows(Indices::zipf, count, store->shape().rows, 5, 0);
      expect_kernel_right(*store, Mode::bulk, kBulkUnitBytes, rows, 0, true);
      expect_kernel_right(*store, Mode::bulk, kBulkUnitBytes, rows, 1, true);
    }
  }
}

TEST_F(FeatureGather, a_table_off_a_boundary_is_not_gathered_in_bulk) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  TableView view = store_of(Store::mapped, 128)->view();
  view.chunks[1] += 8;
  EXPECT_THROW(GatherKernel(view, Mode::bulk, kBulkUnitBytes, 0), SkipError);
}

TEST_F(FeatureGather, the_first_and_last_rows_of_every_tier_and_chunk_are_where_they_should_be) {
  for (const Store store_kind : {Store::mapped, Store::tiered, Store::multi_gpu}) {
    for (const std::uint32_t row_bytes : {4U, 6U, 188U, 1028U, 1030U}) {
      const auto store = store_of(store_kind, row_bytes);
      const TableShape& table = store->shape();
      std::vector<std::uint32_t> rows{0, table.rows - 1};
      for (std::uint32_t row = 1; row < table.rows; ++row) {
        const TableShape::Location here = table.locate(row);
        const TableShape::Location before = table.locate(row - 1);
        if (here.tier != before.tier || (here.tier == Tier::host && here.part != before.part)) {
          rows.insert(rows.end(), {row - 1, row, row + 1});
        }
      }
      EXPECT_GE(rows.size(), 8U);
      expect_kernel_right(*store, Mode::masked, widest_load(Mode::masked, row_bytes), rows);
      expect_kernel_right(*store, Mode::graphbolt, widest_load(row_bytes), rows);
    }
  }
}

}  // namespace
}  // namespace grainscope::gnn
