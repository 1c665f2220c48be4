#include "grainscope/gnn/table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "grainscope/core/units.hpp"
#include "grainscope/gnn/gather.hpp"

namespace grainscope::gnn {
namespace {

TableShape table_of(std::uint32_t local, std::uint32_t spread, std::uint32_t gpus, std::uint32_t rows) {
  TableShape table;
  table.row_bytes = 100;
  table.rows = rows;
  table.local_rows = local;
  table.spread_rows = spread;
  table.by_gpus = Divider(gpus);
  table.chunk_bytes = 4096;
  table.by_chunk_rows = Divider(40);
  return table;
}

TEST(Table, every_row_lies_in_one_place_of_its_own) {
  for (const std::uint32_t gpus : {1U, 2U, 3U, 7U}) {
    const TableShape table = table_of(13, 50, gpus, 300);
    std::set<std::tuple<Tier, std::uint32_t, std::uint32_t>> places;
    std::map<std::uint32_t, std::uint32_t> on_gpu;
    for (std::uint32_t row = 0; row < table.rows; ++row) {
      const TableShape::Location place = table.locate(row);
      EXPECT_TRUE(places.insert({place.tier, place.part, place.row}).second) << row;
      EXPECT_EQ(place.tier == Tier::host, table.on_host(row));
      if (place.tier == Tier::spread) {
        on_gpu[place.part] = std::max(on_gpu[place.part], place.row + 1);
      }
    }
    ASSERT_EQ(on_gpu.size(), gpus);
    for (const auto& [gpu, rows] : on_gpu) {
      EXPECT_EQ(rows, table.spread_rows_of(gpu));
    }
  }
}

// Row 13 + 7 of three GPUs: the third row of the second one. The printed listing says (feat_len * 7) / 3.
TEST(Table, interleaved_rows_divide_before_they_multiply) {
  const TableShape table = table_of(13, 50, 3, 300);
  const TableShape::Location place = table.locate(13 + 7);
  EXPECT_EQ(place.tier, Tier::spread);
  EXPECT_EQ(place.part, 1U);
  EXPECT_EQ(place.row, 2U);
}

TEST(Table, the_hosts_rows_count_from_the_boundary_and_cross_no_chunk) {
  const TableShape table = table_of(13, 50, 3, 300);
  EXPECT_EQ(table.locate(63).row, 0U);
  EXPECT_EQ(table.locate(63).part, 0U);
  EXPECT_EQ(table.locate(63 + 40).part, 1U);
  EXPECT_EQ(table.locate(63 + 40).row, 0U);
  EXPECT_EQ(table.contents(63 + 41).first_byte, 4096U + 100);
  EXPECT_EQ(table.host_rows(), 237U);
  EXPECT_FALSE(table.on_host(62));
  EXPECT_TRUE(table.on_host(63));
}

TEST(Table, the_tiers_hold_different_patterns) {
  const TableShape table = table_of(13, 50, 3, 300);
  EXPECT_EQ(table.contents(12).seed, kLocalSeed);
  EXPECT_EQ(table.contents(13).seed, kSpreadSeed);
  EXPECT_EQ(table.contents(13).first_byte, 0U);
  EXPECT_EQ(table.contents(63).seed, kHostSeed);
}

TEST(Table, without_interleaved_rows_no_gpu_has_any) {
  const TableShape table = table_of(5, 1, 4, 10);
  EXPECT_EQ(table.spread_rows_of(0), 1U);
  EXPECT_EQ(table.spread_rows_of(1), 0U);
  EXPECT_EQ(table_of(5, 0, 4, 10).spread_rows_of(0), 0U);
}

TEST(Table, a_view_addresses_what_the_shape_locates) {
  TableView view;
  view.shape = table_of(13, 50, 3, 300);
  const std::byte memory[1024]{};
  view.local = memory;
  view.spread[1] = memory;
  view.chunks[1] = memory;
  EXPECT_EQ(view.row(2), memory + 200);
  EXPECT_EQ(view.row(20), memory + 200);
  EXPECT_EQ(view.row(63 + 41), memory + 100);
}

TEST(PatternHalf, two_of_them_are_a_word) {
  for (std::uint64_t word = 0; word < 100; ++word) {
    const std::uint32_t halves = pattern_half(2 * word, 5) | std::uint32_t{pattern_half(2 * word + 1, 5)}
                                                                 << 16;
    EXPECT_EQ(halves, pattern_word(word, 5));
  }
}

}  // namespace
}  // namespace grainscope::gnn
