// What gathers are asked for, which are refused, which rows their lists hold, and the CPU's own gather.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/model/link.hpp"

namespace grainscope::model {
namespace {

using gnn::Mode;
using gnn::TableShape;

TableShape table_of(std::uint32_t row_bytes, std::uint32_t rows) {
  TableShape table;
  table.row_bytes = row_bytes;
  table.rows = rows;
  table.chunk_bytes = 64 * kGiB;
  table.by_chunk_rows = gnn::Divider(UINT32_MAX);
  return table;
}

double requests_a_row(Mode mode, std::uint32_t row_bytes, std::uint32_t width = 4) {
  const TableShape table = table_of(row_bytes, 1 << 22);
  const auto rows = gnn::draw_rows(gnn::Indices::uniform, 1 << 16, table.rows, 1, 0);
  return static_cast<double>(gather_requests(mode, width, table, rows).count()) /
         static_cast<double>(rows.size());
}

TEST(GpuShares, cover_every_row_once_and_begin_at_whole_lines) {
  for (const std::uint64_t rows : {0U, 1U, 50U, 64U, 65U, 127U, 500U, 20'011U}) {
    for (const std::size_t gpus : {1U, 2U, 3U, 8U}) {
      std::uint64_t next = 0;
      for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        const auto share = gnn::share_of_gpu(rows, gpu, gpus);
        EXPECT_EQ(share.first, next) << rows << " rows, GPU " << gpu << " of " << gpus;
        EXPECT_LE(share.first, share.last);
        EXPECT_TRUE(share.first % 64 == 0 || share.first == rows);
        next = share.last;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(GpuShares, of_few_rows_are_the_first_gpus) {
  EXPECT_EQ(gnn::share_of_gpu(50, 0, 2).last, 50U);
}

// Worked out by hand for random rows and rounded to a tenth: ideal (which masked reaches), shifted, naive.
TEST(GatherRequests, are_as_many_as_the_table_says) {
  const std::map<std::uint32_t, std::array<double, 3>> table{
      {480, {4.5, 5.25, 7.1}},   {1024, {8, 8, 8}},          {1028, {9.0, 10.4, 16.8}},
      {1040, {9.0, 10.1, 16.0}}, {1260, {10.8, 12.2, 20.3}}, {2312, {19.0, 20.3, 35.9}}};
  for (const auto& [row_bytes, requests] : table) {
    EXPECT_NEAR(requests_a_row(Mode::masked, row_bytes), requests[0], 0.06) << row_bytes;
    EXPECT_NEAR(requests_a_row(Mode::circular_shift, row_bytes), requests[1], 0.06) << row_bytes;
    EXPECT_NEAR(requests_a_row(Mode::naive, row_bytes), requests[2], 0.06) << row_bytes;
  }
}

TEST(GatherRequests, of_masked_rows_do_not_depend_on_how_much_a_lane_loads) {
  for (const std::uint32_t row_bytes : {256U, 480U, 1040U, 2304U}) {
    const double narrow = requests_a_row(Mode::masked, row_bytes, 4);
    EXPECT_DOUBLE_EQ(requests_a_row(Mode::masked, row_bytes, 16), narrow) << row_bytes;
    EXPECT_NEAR(requests_a_row(Mode::graphbolt, row_bytes, 16), narrow, 0.02) << row_bytes;
    EXPECT_NEAR(requests_a_row(Mode::address_ordered, row_bytes, 16), narrow, 0.02) << row_bytes;
  }
}

// Rows of an odd number of float16: by four bytes a lane no more than every line that they touch.
TEST(GatherRequests, of_masked_rows_that_a_load_straddles_are_their_lines) {
  const TableShape table = table_of(1030, 1 << 20);
  const auto rows = gnn::draw_rows(gnn::Indices::uniform, 1 << 14, table.rows, 1, 0);
  std::uint64_t lines = 0;
  std::uint64_t sectors = 0;
  for (const std::uint32_t row : rows) {
    const std::uint64_t first = row * std::uint64_t{1030};
    lines += (first + 1029) / 128 - first / 128 + 1;
    sectors += (first + 1029) / 32 - first / 32 + 1;
  }
  const Requests requests = gather_requests(Mode::masked, 4, table, rows);
  EXPECT_EQ(requests.count(), lines);
  EXPECT_EQ(requests.bytes(), 32 * sectors);
}

// A table of one's own stays on the host whole, so that the rows behind the GPU's begin anywhere in a line.
TEST(GatherRequests, of_rows_behind_others_are_the_lines_at_which_they_lie) {
  constexpr std::uint32_t kRowBytes = 1260;
  TableShape table = table_of(kRowBytes, 1 << 16);
  table.local_rows = 1001;
  table.host_begin = std::uint64_t{1001} * kRowBytes;
  const auto rows = gnn::draw_rows(gnn::Indices::uniform, 1 << 12, table.rows, 1, 0);
  std::uint64_t lines = 0;
  for (const std::uint32_t row : rows) {
    const std::uint64_t first = std::uint64_t{row} * kRowBytes;
    lines += row < table.local_rows ? 0 : (first + kRowBytes - 1) / 128 - first / 128 + 1;
  }
  EXPECT_EQ(gather_requests(Mode::masked, 4, table, rows).count(), lines);
}

// One load of 16 bytes a lane crosses four lines where one of 4 bytes crosses two.
TEST(GatherRequests, of_flat_rows_fall_with_wider_loads) {
  EXPECT_LT(requests_a_row(Mode::vector, 1040, 16), 0.75 * requests_a_row(Mode::vector, 1040, 4));
  EXPECT_DOUBLE_EQ(requests_a_row(Mode::vector, 1040, 4), requests_a_row(Mode::naive, 1040, 4));
}

// The same counts, the slow way: lines of each warp's loads, from the addresses alone.
TEST(GatherRequests, of_naive_rows_are_the_lines_of_each_window_of_the_output) {
  const TableShape table = table_of(188, 1000);
  const auto rows = gnn::draw_rows(gnn::Indices::zipf, 777, table.rows, 3, 1);
  const std::uint64_t units = 188 / 4;
  std::uint64_t lines = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> sectors;
  for (std::uint64_t first = 0; first < rows.size() * units; first += 32) {
    std::set<std::uint64_t> touched;
    for (std::uint64_t i = first; i < std::min(first + 32, rows.size() * units); ++i) {
      const std::uint64_t byte = rows[i / units] * std::uint64_t{188} + i % units * 4;
      touched.insert(byte / 128);
      sectors.insert({first, byte / 32});
    }
    lines += touched.size();
  }
  const Requests requests = gather_requests(Mode::naive, 4, table, rows);
  EXPECT_EQ(requests.count(), lines);
  EXPECT_EQ(requests.bytes(), 32 * sectors.size());
  EXPECT_EQ(requests.elements, rows.size() * units);
  EXPECT_EQ(requests.loads, (rows.size() * units + 31) / 32);
}

TEST(GatherRequests, rows_on_gpus_ask_for_nothing) {
  TableShape table = table_of(1024, 1000);
  table.local_rows = 100;
  table.spread_rows = 200;
  const auto rows = gnn::draw_rows(gnn::Indices::uniform, 5000, table.rows, 1, 0);
  const auto cold = static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](std::uint32_t row) { return row >= 300; }));
  EXPECT_EQ(gather_requests(Mode::masked, 16, table, rows).count(), 8 * cold);
  EXPECT_EQ(gather_requests(Mode::masked, 16, table, rows).bytes(), 1024 * cold);
}

TEST(GatherRequests, small_rows_in_order_share_lines) {
  const TableShape table = table_of(4, 1 << 20);
  std::vector<std::uint32_t> rows(1 << 12);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<std::uint32_t>(rows.size() - 1 - i);
  }
  EXPECT_EQ(gather_requests(Mode::address_ordered, 4, table, rows).count(), rows.size() / 32);
}

TEST(GatherRequests, of_loads_that_rows_do_not_allow_are_refused) {
  const TableShape table = table_of(1028, 100);
  const std::vector<std::uint32_t> rows{1, 2, 3};
  EXPECT_THROW(static_cast<void>(gather_requests(Mode::masked, 16, table, rows)), UsageError);
  EXPECT_THROW(static_cast<void>(gather_requests(Mode::vector, 3, table, rows)), UsageError);
  EXPECT_THROW(static_cast<void>(gather_requests(Mode::row_dma, 4, table, rows)), UsageError);
  EXPECT_THROW(static_cast<void>(gather_requests(Mode::bulk, 16, table, rows)), UsageError);
}

TEST(GatherMisses, one_a_row_at_random_and_one_a_granule_in_order) {
  const Link link = link_named("pcie5x16");
  const TableShape table = table_of(128, (8 * kGiB) / 128);
  const auto rows = gnn::draw_rows(gnn::Indices::uniform, 1 << 18, table.rows, 1, 0);
  const auto asked = static_cast<double>(gather_misses(Mode::masked, link, table, rows));
  EXPECT_GT(asked, 0.9 * (1 << 18));
  std::set<std::uint64_t> granules;
  for (const std::uint32_t row : rows) {
    granules.insert(row / 512);
  }
  EXPECT_EQ(gather_misses(Mode::address_ordered, link, table, rows), granules.size());
  EXPECT_EQ(gather_misses(Mode::masked, link_named("pcie4x16"), table, rows), 0U);
  EXPECT_EQ(gather_misses(Mode::masked, link, table_of(128, 512 * 1024), {}), 0U);
}

}  // namespace
}  // namespace grainscope::model

// Gathers that cannot be are refused before anything is launched: no GPU is needed to find out.

namespace grainscope::gnn {
namespace {

// A shape without memory: who reads it would crash.
class NoMemory final : public FeatureStore {
 public:
  explicit NoMemory(const StoreRequest& request) : FeatureStore(request) {
    view_.shape = table_shape(request, kMiB);
  }
};

NoMemory store_of(Store store, std::uint32_t row_bytes) {
  StoreRequest request;
  request.store = store;
  request.row_bytes = row_bytes;
  request.span_bytes = kMiB;
  request.hot_percent = store == Store::tiered ? 10 : 0;
  return NoMemory(request);
}

std::string refusal(FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
  try {
    static_cast<void>(make_gather(store, lists, request));
  } catch (const UsageError& error) {
    return error.what();
  } catch (const SkipError&) {
    return "";  // of a build without CUDA: it got as far as a GPU
  }
  return "";
}

TEST(RefusedGathers, of_rows_that_are_no_multiple_of_the_element_name_both_sizes) {
  for (const Store kind : {Store::mapped, Store::managed, Store::device, Store::tiered}) {
    NoMemory store = store_of(kind, 1030);
    for (const Mode mode : {Mode::naive, Mode::circular_shift, Mode::masked, Mode::vector}) {
      const std::uint32_t width = mode == Mode::masked ? 8 : 4;  // a masked walk may straddle by 4
      EXPECT_EQ(refusal(store, {{0}}, {mode, width, 0, 1}), std::string(name(mode)) + " cannot load " +
                                                                std::to_string(width) +
                                                                " bytes at once from rows of 1030");
    }
    for (const Mode mode : {Mode::address_ordered, Mode::graphbolt}) {
      EXPECT_NE(refusal(store, {{0}}, {mode, 16, 0, 1}), "") << name(mode);
    }
  }
}

TEST(RefusedGathers, of_an_index_out_of_range_name_it) {
  for (const Store kind : {Store::mapped, Store::managed, Store::device, Store::tiered}) {
    NoMemory store = store_of(kind, 1024);
    for (const Mode mode : {Mode::naive, Mode::masked, Mode::address_ordered, Mode::graphbolt}) {
      const std::uint32_t width = mode == Mode::naive ? 4 : 16;
      EXPECT_EQ(refusal(store, {{0, 1023}, {5, 1024}}, {mode, width, 0, 1}),
                "index 1 of a gather asks for row 1024 of a table of 1024 rows")
          << name(mode);
    }
  }
  NoMemory pinned = store_of(Store::pinned, 1024);
  for (const Mode mode : {Mode::row_dma, Mode::cpu_gather_dma}) {
    EXPECT_NE(refusal(pinned, {{UINT32_MAX}}, {mode, 4, 0, 1}).find("row 4294967295"), std::string::npos);
  }
}

TEST(RefusedTables, have_more_than_all_or_fewer_than_no_rows_on_gpus) {
  for (const Store kind : {Store::tiered, Store::multi_gpu}) {
    for (const double percent :
         {-1.0, 100.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      StoreRequest request;
      request.store = kind;
      request.span_bytes = kMiB;
      request.gpus = {0};
      request.hot_percent = percent;
      try {
        static_cast<void>(table_shape(request, kMiB));
        ADD_FAILURE() << percent;
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("0 to 100 percent"), std::string::npos) << error.what();
      }
    }
  }
  StoreRequest both;
  both.store = Store::multi_gpu;
  both.span_bytes = kMiB;
  both.gpus = {0};
  both.hot_percent = 60;
  both.replicated_percent = 41;
  EXPECT_THROW(static_cast<void>(table_shape(both, kMiB)), UsageError);
}

}  // namespace
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
  EXPECT_TRUE(may_load(Mode::bulk, 64, 4, 16));
  EXPECT_FALSE(may_load(Mode::bulk, 48, 4, 16));
  EXPECT_FALSE(may_load(Mode::bulk, 1032, 4, 8));
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
namespace {

TEST(DrawRows, come_out_the_same_each_time_and_differ_by_list_and_seed) {
  for (const Indices indices : {Indices::uniform, Indices::zipf}) {
    const auto rows = draw_rows(indices, 1000, 1 << 20, 1, 0);
    EXPECT_EQ(draw_rows(indices, 1000, 1 << 20, 1, 0), rows);
    EXPECT_NE(draw_rows(indices, 1000, 1 << 20, 1, 1), rows);
    EXPECT_NE(draw_rows(indices, 1000, 1 << 20, 2, 0), rows);
    EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), [](std::uint32_t row) { return row < 1U << 20; }));
  }
}

TEST(DrawRows, of_a_table_of_one_row_are_that_row) {
  for (const Indices indices : {Indices::uniform, Indices::zipf}) {
    EXPECT_EQ(draw_rows(indices, 5, 1, 1, 0), std::vector<std::uint32_t>(5, 0));
  }
}

TEST(DrawRows, are_refused_where_there_is_nothing_to_draw_from) {
  EXPECT_THROW(static_cast<void>(draw_rows(Indices::uniform, 5, 0, 1, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(draw_rows(Indices::sampled, 5, 10, 1, 0)), UsageError);
}

// Of a table of 2^20 rows the first 2^10 take half of all accesses, and row 0 ln 2 / ln 2^20 of them.
TEST(DrawRows, zipf_takes_as_many_hot_rows_as_its_law_says) {
  const auto rows = draw_rows(Indices::zipf, 1 << 18, 1 << 20, 1, 0);
  const auto share = [&](std::uint32_t below) {
    return static_cast<double>(
               std::count_if(rows.begin(), rows.end(), [=](std::uint32_t row) { return row < below; })) /
           static_cast<double>(rows.size());
  };
  EXPECT_NEAR(share(1), 0.05, 0.005);
  EXPECT_NEAR(share(1023), 0.5, 0.01);
  EXPECT_NEAR(share(1 << 20), 1, 0);
}

TEST(RequireInTable, names_the_index_and_the_row) {
  const std::vector<std::uint32_t> rows{3, 0, 99, 100};
  EXPECT_NO_THROW(require_in_table(rows, 101));
  try {
    require_in_table(rows, 100);
    FAIL() << "row 100 of 100 was taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "index 3 of a gather asks for row 100 of a table of 100 rows");
  }
}

TEST(CountUnique, tells_host_rows_from_the_others) {
  TableShape table;
  table.rows = 10;
  table.local_rows = 2;
  table.spread_rows = 3;
  const UniqueRows unique = unique_rows(std::vector<std::uint32_t>{9, 0, 0, 4, 5, 9, 9, 6}, table);
  EXPECT_EQ(unique.all, 5U);
  EXPECT_EQ(unique.on_host, 3U);
}

TEST(RowsThatFit, leave_the_rest_of_a_chunk_unused) {
  EXPECT_EQ(rows_that_fit(kMiB, 128, kMiB), 8192U);
  EXPECT_EQ(rows_that_fit(2 * kMiB, 1028, kMiB), 2 * (kMiB / 1028));
  EXPECT_EQ(rows_that_fit(2 * kMiB + 2056, 1028, kMiB), 2 * (kMiB / 1028) + 2);
  EXPECT_THROW(static_cast<void>(rows_that_fit(kMiB, 0, kMiB)), UsageError);
  EXPECT_THROW(static_cast<void>(rows_that_fit(kMiB, 2 * kMiB, kMiB)), UsageError);
  EXPECT_THROW(static_cast<void>(rows_that_fit(16 * kGiB, 4, kGiB)), UsageError);
}

}  // namespace
}  // namespace grainscope::gnn
