// Where the rows of a table lie, and how warps walk them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "grainscope/core/units.hpp"
#include "grainscope/gnn/access.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/table.hpp"

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
namespace {

// Numbers of 32 bits.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

TEST(DividerOf, every_kind_of_number_divides_as_the_language_does) {
  Draws random(1);
  std::vector<std::uint32_t> divisors{1, 2, 3, 7, 32, 257, 65535, 1U << 31, UINT32_MAX};
  for (int i = 0; i < 300; ++i) {
    divisors.push_back(random() >> (i % 32) | 1U);
  }
  for (const std::uint32_t divisor : divisors) {
    const Divider divider(divisor);
    for (int i = 0; i < 300; ++i) {
      const std::uint32_t of = random() >> (i % 32);
      for (const std::uint32_t n : {of, of / divisor * divisor, of / divisor * divisor - 1}) {
        ASSERT_EQ(divider.quotient(n), n / divisor) << n << " / " << divisor;
      }
    }
    ASSERT_EQ(divider.quotient(UINT32_MAX), UINT32_MAX / divisor) << divisor;
  }
}

// Walks a gather as a kernel would and sees that each unit of each row is loaded once. Rows lie at the places
// that `row_of` gives them, in a table that begins at a line. Sees, too, that no tile touches more rows than
// its policy says, where it says so.
template <class Policy>
void expect_each_unit_once(const RowShape& shape, int loads, Draws& random) {
  const Policy policy(shape);
  std::vector<std::uint64_t> address(shape.rows);
  for (std::uint64_t& each : address) {
    each = random() % 100000 * shape.row_bytes;
  }
  std::vector<int> seen(shape.rows * shape.units);
  std::uint64_t most_rows = 0;
  for (std::uint64_t tile = 0; tile < policy.tiles(loads); ++tile) {
    const TileBase base = policy.base(tile, loads);
    for (int load = 0; load < loads; ++load) {
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        const Place place = policy.place(base, load, lane);
        most_rows = std::max(most_rows, place.position - base.position + 1);
        if (place.position >= shape.rows) {
          continue;
        }
        const std::uint32_t unit = policy.element(place, policy.phase(address[place.position]));
        if (unit < shape.units) {
          ++seen[place.position * shape.units + unit];
        }
      }
    }
  }
  for (const int times : seen) {
    ASSERT_EQ(times, 1) << shape.rows << " rows of " << shape.units << " units of " << shape.width;
  }
  if constexpr (requires { policy.most_rows(loads); }) {
    ASSERT_LE(most_rows, policy.most_rows(loads)) << shape.units << " units of " << shape.width;
  }
}

TEST(GatherAccess, every_policy_loads_each_unit_of_each_row_once) {
  Draws random(2);
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t width = 2U << random() % 4;
    const std::uint32_t units = 1 + random() % (i % 4 == 0 ? 1100 : 90);
    const RowShape shape(1 + random() % 70, units * width, width);
    const int loads = loads_of_tile(width);
    expect_each_unit_once<Naive>(shape, loads, random);
    expect_each_unit_once<CircularShift>(shape, loads, random);
    expect_each_unit_once<Masked>(shape, loads, random);
    expect_each_unit_once<GraphBolt>(shape, static_cast<int>(GraphBolt(shape).steps), random);
  }
}

// Odd numbers of float16: every byte of every row is in one unit that is loaded, and no unit is loaded twice
// or for nothing.
TEST(GatherAccess, masked_units_wider_than_the_rows_boundary_hold_each_byte_once) {
  Draws random(4);
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t row_bytes = 4 * (random() % (i % 3 == 0 ? 40 : 600)) + 2;
    const RowShape shape(1 + random() % 40, row_bytes, kStraddlingLoad);
    const Masked policy(shape);
    const int loads = loads_of_tile(kStraddlingLoad);
    std::vector<std::uint64_t> address(shape.rows);
    for (std::uint64_t& each : address) {
      each = random() % 100000 * row_bytes;
    }
    std::vector<int> seen(shape.rows * row_bytes);
    for (std::uint64_t tile = 0; tile < policy.tiles(loads); ++tile) {
      const TileBase base = policy.base(tile, loads);
      for (int lane = 0; lane < loads * kWarpLanes; ++lane) {
        const Place place = policy.place(base, lane / kWarpLanes, lane % kWarpLanes);
        if (place.position >= shape.rows) {
          continue;
        }
        const std::uint64_t row = address[place.position];
        const std::uint32_t unit = policy.element(place, policy.phase(row));
        if (!shape.holds(row, unit)) {
          continue;
        }
        const std::uint64_t begin = shape.begin_of(row, unit);
        EXPECT_EQ(begin % kStraddlingLoad, 0U);
        EXPECT_LT(begin, row + row_bytes);
        EXPECT_GT(begin + kStraddlingLoad, row);
        for (std::uint64_t byte = std::max(begin, row); byte < std::min(begin + 4, row + row_bytes); ++byte) {
          ++seen[place.position * row_bytes + byte - row];
        }
      }
    }
    ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; })) << row_bytes;
  }
}

TEST(GatherAccess, masked_lanes_of_a_load_stay_within_lines_from_their_beginning) {
  Draws random(3);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t width = 2U << random() % 4;
    const auto line = static_cast<std::uint32_t>(kLineBytes);
    const RowShape shape(4, line + width * (1 + random() % 300), width);
    const Masked policy(shape);
    const std::uint64_t address = std::uint64_t{random()} % 100000 * shape.row_bytes;
    std::set<std::uint64_t> lines;
    std::uint64_t touched = 0;  // lines, load by load
    for (std::uint32_t step = 0; step < policy.steps; ++step) {
      std::set<std::uint64_t> in_load;
      for (std::uint32_t lane = 0; lane < policy.lanes; ++lane) {
        const std::uint32_t unit = policy.element({0, step * policy.lanes + lane}, policy.phase(address));
        if (unit < shape.units) {
          in_load.insert((address + std::uint64_t{unit} * width) / kLineBytes);
        }
      }
      touched += in_load.size();
      lines.insert(in_load.begin(), in_load.end());
    }
    // 2-byte lanes fill half a line at a time.
    EXPECT_LE(touched, lines.size() * (width == 2 ? 2 : 1)) << shape.units << " of " << width;
  }
}

TEST(GatherAccess, a_shifted_lane_reads_what_is_congruent_to_it) {
  const RowShape shape(100, 1028, 4);
  const CircularShift policy(shape);
  ASSERT_TRUE(policy.shifts);
  int congruent = 0;
  int all = 0;
  for (std::uint64_t tile = 0; tile < policy.tiles(8); ++tile) {
    for (int load = 0; load < 8; ++load) {
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        const Place place = policy.place(policy.base(tile, 8), load, lane);
        const std::uint64_t address = (place.position * 7919 % 1000) * shape.row_bytes;
        const std::uint32_t unit = policy.element(place, policy.phase(address));
        congruent += (address / 4 + unit) % kWarpLanes == static_cast<std::uint64_t>(lane) ? 1 : 0;
        ++all;
      }
    }
  }
  EXPECT_GT(congruent, all * 9 / 10);  // all but those behind the wrap
}

TEST(GatherAccess, only_rows_above_a_line_that_are_no_whole_lines_are_shifted) {
  EXPECT_FALSE(CircularShift({1, 128, 4}).shifts);
  EXPECT_TRUE(CircularShift({1, 132, 4}).shifts);
  EXPECT_FALSE(CircularShift({1, 256, 4}).shifts);
  EXPECT_FALSE(CircularShift({1, 80, 4}).shifts);
  EXPECT_FALSE(Naive({1, 132, 4}).shifts);
}

TEST(GatherAccess, a_tile_touches_few_rows_unless_they_are_small) {
  EXPECT_EQ(Naive({100, 1028, 4}).most_rows(8), 2U);
  EXPECT_EQ(CircularShift({100, 400, 4}).most_rows(8), 4U);
  EXPECT_EQ(Naive({100, 4, 4}).most_rows(8), 256U);
  EXPECT_EQ(Masked({100, 1260, 4}).most_rows(8), 2U);
  EXPECT_EQ(Masked({100, 128, 16}).most_rows(4), 16U);
  EXPECT_EQ(Masked({100, 512, 16}).most_rows(4), 4U);
}

TEST(GatherAccess, small_rows_share_a_warp) {
  EXPECT_EQ(Masked({1, 4, 4}).lanes, 1U);
  EXPECT_EQ(Masked({1, 128, 16}).lanes, 8U);   // 128 bytes
  EXPECT_EQ(Masked({1, 128, 4}).lanes, 32U);   // 128 bytes
  EXPECT_EQ(Masked({1, 256, 16}).lanes, 16U);  // 256 bytes
  EXPECT_EQ(Masked({1, 512, 16}).lanes, 32U);  // 512 bytes
  EXPECT_EQ(Masked({1, 1028, 4}).lanes, 32U);  // 1028 bytes: 257 and up to 31 before them
  EXPECT_EQ(Masked({1, 1028, 4}).steps, 9U);
}

TEST(GatherAccess, graphbolt_gives_a_row_as_many_threads_as_its_source_does) {
  EXPECT_EQ(GraphBolt({1, 128, 16}).across, 8U);
  EXPECT_EQ(GraphBolt({1, 188, 4}).across, 64U);
  EXPECT_EQ(GraphBolt({1, 1028, 4}).across, 512U);
  EXPECT_EQ(GraphBolt({1, 1024, 4}).across, 256U);
  EXPECT_EQ(GraphBolt({1, 4, 4}).across, 1U);
}

TEST(GatherAccess, the_widest_load_divides_the_row) {
  EXPECT_EQ(widest_load(1024), 16U);
  EXPECT_EQ(widest_load(1032), 8U);
  EXPECT_EQ(widest_load(1028), 4U);
  EXPECT_EQ(widest_load(1030), 2U);
  EXPECT_EQ(widest_load(Mode::masked, 1030), 4U) << "but for a masked walk";
  EXPECT_EQ(widest_load(Mode::address_ordered, 1030), 4U);
  EXPECT_EQ(widest_load(Mode::graphbolt, 1030), 2U);
  EXPECT_EQ(widest_load(Mode::masked, 1032), 8U);
}

}  // namespace
}  // namespace grainscope::gnn
