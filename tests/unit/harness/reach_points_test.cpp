#include "reach_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

TEST(WallSpans, of_paper_have_the_largest_power_of_two_once_and_in_order) {
  const Scope scope = make_scope(Preset::paper, {}, false, {0});
  const auto paper = [&](std::uint64_t most) { return wall_spans(scope, most); };
  const std::vector<std::uint64_t> usual = paper(0);
  EXPECT_EQ(usual.back(), 64 * kGiB);
  EXPECT_EQ(paper(65 * kGiB), usual);
  EXPECT_EQ(paper(300 * kGiB).back(), 256 * kGiB);
  EXPECT_EQ(paper(300 * kGiB).size(), usual.size() + 1);
  EXPECT_EQ(paper(UINT64_MAX).back(), 1024 * kGiB);
  const std::vector<std::uint64_t> small = paper(31 * kGiB);
  EXPECT_TRUE(std::is_sorted(small.begin(), small.end()));
  EXPECT_TRUE(std::binary_search(small.begin(), small.end(), 16 * kGiB));
}

// Quarters of an octave, for rows of up to 256 bytes in the order asked.
TEST(WallSpans, of_full_lie_closer_where_the_rates_of_small_rows_fall) {
  const Scope scope = make_scope(Preset::full, {}, false, {0});
  const std::vector<std::uint64_t> spans = wall_spans(scope, 0);
  EXPECT_TRUE(std::is_sorted(spans.begin(), spans.end()));
  std::vector<std::uint64_t> between;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(between),
               [](std::uint64_t span) { return !std::has_single_bit(span); });
  EXPECT_EQ(between, (std::vector<std::uint64_t>{320 * kMiB, 384 * kMiB, 448 * kMiB, 640 * kMiB, 768 * kMiB,
                                                 896 * kMiB}));
  EXPECT_EQ(spans.size(), between.size() + 10) << "and the octaves from 64 MiB to 32 GiB";
  for (const std::uint64_t span : between) {
    std::vector<std::uint64_t> rows;
    for (const GatherShape& shape : wall_shapes(scope, span)) {
      EXPECT_FALSE(shape.sorted);
      rows.push_back(shape.row_bytes);
    }
    EXPECT_EQ(rows, (std::vector<std::uint64_t>{32, 64, 128, 256}));
  }
}

TEST(RowsAsked, are_a_million_or_what_makes_256_mib) {
  EXPECT_EQ(rows_asked(32), 1U << 20);
  EXPECT_EQ(rows_asked(128), 1U << 20);
  EXPECT_EQ(rows_asked(256), 1U << 20);
  EXPECT_EQ(rows_asked(512), 1U << 19);
  EXPECT_EQ(rows_asked(4096), 1U << 16);
}

}  // namespace
}  // namespace grainscope::harness
