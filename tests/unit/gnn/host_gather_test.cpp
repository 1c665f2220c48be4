#include <gtest/gtest.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"

namespace grainscope::gnn {
namespace {

std::unique_ptr<FeatureStore> pageable(std::uint32_t row_bytes, std::uint64_t span_bytes = kMiB) {
  StoreRequest request;
  request.store = Store::pageable;
  request.row_bytes = row_bytes;
  request.span_bytes = span_bytes;
  return make_pageable_store(request);
}

GatherRequest by_threads(int threads) {
  return {Mode::cpu_gather, 4, 0, threads};
}

TEST(HostGather, of_every_size_and_number_of_threads_is_right) {
  for (const std::uint32_t row_bytes : {2U, 4U, 6U, 128U, 1028U, 4098U}) {
    const auto store = pageable(row_bytes);
    for (const std::uint64_t rows : {1U, 7U, 1000U}) {
      for (const int threads : {1, 3}) {
        RowLists lists{draw_rows(Indices::uniform, rows, store->shape().rows, 1, 0),
                       draw_rows(Indices::zipf, rows, store->shape().rows, 1, 1)};
        const auto gather = make_gather(*store, lists, by_threads(threads));
        for (int turn = 0; turn < 3; ++turn) {
          EXPECT_GT(sample(*gather), 0);
        }
        EXPECT_FALSE(gather->verify().empty());
      }
    }
  }
}

TEST(HostGather, finds_a_wrong_byte) {
  const auto store = pageable(1028);
  const auto gather = make_gather(*store, {{3, 4}}, by_threads(1));
  auto* byte = const_cast<std::byte*>(store->view().row(4)) + 1027;
  *byte ^= std::byte{1};
  static_cast<void>(sample(*gather));
  EXPECT_THROW(static_cast<void>(gather->verify()), FailedError);
}

TEST(HostGather, that_never_ran_is_caught) {
  const auto store = pageable(128);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{3}}, by_threads(1))->verify()), FailedError);
}

TEST(HostGather, of_rows_that_are_not_there_is_refused_with_their_names) {
  const auto store = pageable(1024);
  try {
    static_cast<void>(make_gather(*store, {{0, 1023}, {5, 1024}}, by_threads(1)));
    FAIL() << "a row beyond the table was taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "index 1 of a gather asks for row 1024 of a table of 1024 rows");
  }
  EXPECT_THROW(static_cast<void>(make_gather(*store, {}, by_threads(1))), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{}}, by_threads(1))), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{1}, {1, 2}}, by_threads(1))), UsageError);
  EXPECT_THROW(static_cast<void>(make_gather(*store, {{1}}, {Mode::masked, 4, 0, 1})), UsageError);
}

TEST(TableShapes, of_impossible_tables_are_refused) {
  StoreRequest request;
  request.span_bytes = kMiB;
  request.row_bytes = 127;
  EXPECT_THROW(static_cast<void>(table_shape(request, kMiB)), UsageError);
  request.row_bytes = 128;
  request.store = Store::tiered;
  request.hot_percent = 101;
  EXPECT_THROW(static_cast<void>(table_shape(request, kMiB)), UsageError);
  request.hot_percent = 10;
  request.store = Store::multi_gpu;
  EXPECT_THROW(static_cast<void>(table_shape(request, kMiB)), UsageError);
}

TEST(TableShapes, share_rows_out_by_percent_and_none_is_lost) {
  StoreRequest request;
  request.span_bytes = kMiB;
  request.store = Store::multi_gpu;
  request.gpus = {0, 1, 2};
  request.hot_percent = 30;
  request.replicated_percent = 5;
  const TableShape shape = table_shape(request, kMiB);
  EXPECT_EQ(shape.rows, 8192U);
  EXPECT_EQ(shape.local_rows, 410U);
  EXPECT_EQ(shape.spread_rows, 2458U);
  EXPECT_EQ(shape.spread_rows_of(0) + shape.spread_rows_of(1) + shape.spread_rows_of(2), 2458U);
  const StoreBytes bytes = store_bytes(request, kMiB);
  EXPECT_EQ(bytes.host, (8192U - 410 - 2458) * 128);
  EXPECT_EQ(bytes.own, (410U + 820) * 128);
  EXPECT_EQ(bytes.other, 820U * 128);
  request.store = Store::device;
  EXPECT_EQ(store_bytes(request, kMiB).host, 0U);
  EXPECT_EQ(table_shape(request, kMiB).local_rows, 8192U);
}

TEST(Modes, read_only_what_they_can) {
  EXPECT_TRUE(can_read(Mode::cpu_gather_dma, Store::pageable));
  EXPECT_TRUE(can_read(Mode::masked, Store::multi_gpu));
  EXPECT_FALSE(can_read(Mode::masked, Store::pinned));
  EXPECT_FALSE(can_read(Mode::row_dma, Store::pageable));
  EXPECT_FALSE(can_read(Mode::cpu_gather, Store::mapped));
  EXPECT_TRUE(may_load(Mode::naive, 1028, 4, 4));
  EXPECT_FALSE(may_load(Mode::naive, 1024, 4, 16));
  EXPECT_TRUE(may_load(Mode::masked, 1024, 4, 16));
  EXPECT_FALSE(may_load(Mode::masked, 1028, 4, 8));
  EXPECT_TRUE(may_load(Mode::masked, 1030, 2, 2));
  EXPECT_TRUE(may_load(Mode::masked, 1030, 2, 4));
  EXPECT_FALSE(may_load(Mode::masked, 1030, 2, 8));
  EXPECT_FALSE(may_load(Mode::masked, 1029, 2, 4));
  EXPECT_TRUE(may_load(Mode::address_ordered, 1030, 2, 4));
  EXPECT_FALSE(may_load(Mode::graphbolt, 1030, 2, 4));
  EXPECT_FALSE(may_load(Mode::vector, 1030, 2, 4));
  EXPECT_FALSE(may_load(Mode::address_ordered, 1024, 4, 4));
  EXPECT_FALSE(may_load(Mode::row_dma, 1024, 4, 4));
}

TEST(DrawBags, interleave_their_tables_so_that_hot_rows_come_first) {
  const BagRequest request{3, 5, 7};
  const auto rows = draw_bags(request, Indices::zipf, 3001, 1, 0);
  ASSERT_EQ(rows.size(), request.lookups());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i] % 3, i / 7 % 3);
    EXPECT_LT(rows[i], 3000U);
  }
  EXPECT_THROW(static_cast<void>(draw_bags({0, 5, 7}, Indices::zipf, 3000, 1, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(draw_bags({3, 5, kMostPooled + 1}, Indices::zipf, 3000, 1, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(draw_bags({3, 5, 7}, Indices::zipf, 2, 1, 0)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
