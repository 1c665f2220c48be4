#include "grainscope/lean/steps.hpp"

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

TEST(Steps, pieces_cover_a_list_and_are_eight_lines_at_most) {
  for (const std::uint64_t begin : {0U, 1U, 31U, 32U, 100U}) {
    for (const std::uint64_t length : {0U, 1U, 31U, 32U, 255U, 256U, 257U, 1000U}) {
      const std::uint64_t end = begin + length;
      std::uint64_t at = begin;
      for (std::uint64_t piece = 0; piece < pieces_of(begin, end); ++piece) {
        const Step step = piece_of(begin, end, piece);
        EXPECT_EQ(step.from, at);
        EXPECT_GT(step.to, step.from);
        EXPECT_LE(step.to - step.from / kLineElements * kLineElements, kPieceElements);
        at = step.to;
      }
      EXPECT_EQ(at, end);
    }
  }
}

TEST(Steps, a_search_turns_where_the_numbers_say) {
  const Turning turning{10, 20};
  EXPECT_FALSE(turning.to_pull(100, 1000));
  EXPECT_TRUE(turning.to_pull(101, 1000));
  EXPECT_FALSE(turning.to_push(51, 60, 1000));
  EXPECT_FALSE(turning.to_push(49, 40, 1000)) << "it grows";
  EXPECT_TRUE(turning.to_push(49, 60, 1000));
}

}  // namespace
}  // namespace grainscope::lean
