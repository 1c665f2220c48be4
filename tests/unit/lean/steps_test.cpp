#include "grainscope/lean/steps.hpp"
#include "grainscope/lean/turning.hpp"

#include <gtest/gtest.h>

namespace grainscope::lean {
namespace {

TEST(Steps, a_pull_reads_every_element_once_and_stops_at_boundaries) {
  for (std::uint64_t begin = 0; begin < 70; ++begin) {
    for (std::uint64_t end = begin + 1; end < 200; end += 7) {
      Step step = first_step(begin, end);
      EXPECT_EQ(step.from, begin);
      EXPECT_LE(step.to - step.from, kSectorElements);
      EXPECT_TRUE(step.to == end || step.to % kSectorElements == 0);
      std::uint64_t read = step.to;
      while (read < end) {
        step = line_step(read, end);
        ASSERT_EQ(step.from, read);
        ASSERT_GT(step.to, step.from);
        EXPECT_EQ(step.from / kLineElements, (step.to - 1) / kLineElements) << "one line";
        EXPECT_TRUE(step.to == end || step.to % kLineElements == 0);
        read = step.to;
      }
      EXPECT_EQ(read, end);
    }
  }
}

TEST(Steps, pieces_cover_a_list_and_are_eight_lines_at_most_or_two_where_few_lists_are_read) {
  for (const std::uint64_t longer : {kLongList, kLongOfFew}) {
    const std::uint64_t most = piece_elements(longer);
    EXPECT_EQ(most, longer == kLongList ? 8 * kLineElements : 2 * kLineElements);
    for (const std::uint64_t begin : {0U, 1U, 31U, 32U, 100U}) {
      for (const std::uint64_t length : {0U, 1U, 31U, 32U, 64U, 65U, 255U, 256U, 257U, 1000U}) {
        const std::uint64_t end = begin + length;
        std::uint64_t at = begin;
        for (std::uint64_t piece = 0; piece < pieces_of(begin, end, most); ++piece) {
          const Step step = piece_of(begin, end, piece, most);
          EXPECT_EQ(step.from, at);
          EXPECT_GT(step.to, step.from);
          EXPECT_LE(step.to - step.from / kLineElements * kLineElements, most);
          at = step.to;
        }
        EXPECT_EQ(at, end);
      }
    }
  }
}

TEST(Steps, hot_parts_are_handed_out_where_they_are_long) {
  EXPECT_EQ(hot_pieces_of(kLongList, kLongList), 0);
  EXPECT_EQ(hot_pieces_of(kLongList + 1, kLongList), 3);
  EXPECT_EQ(hot_pieces_of(kLongOfFew, kLongOfFew), 0);
  EXPECT_EQ(hot_pieces_of(kLongOfFew + 1, kLongOfFew), 2);
}

// A million vertices with 32 neighbours each, a tenth of them reached.
LevelAhead ahead_of(std::uint64_t active, std::uint64_t edges) {
  return {active, edges, 900'000, 28'800'000, 1'000'000, 32'000'000};
}

TEST(Steps, a_search_pulls_where_many_edges_lead_out_of_the_frontier) {
  const Turning turning;
  EXPECT_FALSE(turning.pulls(ahead_of(1, 32)));
  EXPECT_FALSE(turning.pulls(ahead_of(62'500, 2'000'000))) << "a sixteenth of the edges answers few pulls";
  EXPECT_TRUE(turning.pulls(ahead_of(500'000, 16'000'000)));
  EXPECT_FALSE(turning.pulls({100, 0, 900'000, 28'800'000, 1'000'000, 32'000'000})) << "nothing to find";
  EXPECT_TRUE(turning.pulls({100, 3200, 0, 0, 1'000'000, 32'000'000})) << "nobody is left to find it";
  EXPECT_TRUE(turning.pulls({100, 3200, 1, 40, 1'000'000, 32'000'000}));
}

TEST(Steps, a_search_pulls_earlier_where_hubs_lead_out_or_looking_is_cheap) {
  const Turning cold;
  const Turning hot{0.75, 1, 8};
  EXPECT_FALSE(cold.pulls(ahead_of(62'500, 4'000'000)));
  EXPECT_FALSE(hot.pulls(ahead_of(62'500, 2'000'000)));
  EXPECT_TRUE(hot.pulls(ahead_of(1000, 2'000'000))) << "lists begin with those hubs";
  const Turning compressed{0.4};
  EXPECT_TRUE(cold.pulls(ahead_of(500'000, 16'000'000)));
  EXPECT_FALSE(compressed.pulls(ahead_of(500'000, 16'000'000))) << "pushing is cheaper";
}

}  // namespace
}  // namespace grainscope::lean
