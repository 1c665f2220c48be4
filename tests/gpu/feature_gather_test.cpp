// Timed gathers: what they check, refuse and tell.

#include "feature_gather_fixture.hpp"

namespace grainscope::gnn {
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
        expect_right(*store, lists_of(*store, 500), {mode, widths.empty() ? 4 : widths.back(), 0, 3});
      }
    }
  }
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

TEST_F(FeatureGather, only_modes_that_sort_tell_how_long_that_takes) {
  const auto store = store_of(Store::mapped, 128);
  for (const Mode mode : kKernelModes) {
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
}  // namespace grainscope::gnn
