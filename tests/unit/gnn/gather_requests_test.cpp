#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/model/gather.hpp"

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
