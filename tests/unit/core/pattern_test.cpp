#include "grainscope/core/pattern.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <vector>

namespace grainscope {
namespace {

constexpr std::size_t kSmall = 1000;
constexpr std::size_t kLarge = (std::size_t{1} << 18) + 4321;  // where several threads share the work

class PatternBuffer : public testing::TestWithParam<std::size_t> {
 protected:
  std::vector<std::uint32_t> filled(std::uint32_t seed) const {
    std::vector<std::uint32_t> words(GetParam());
    fill_pattern(words.data(), words.size(), seed);
    return words;
  }
};

TEST_P(PatternBuffer, every_word_is_the_one_of_its_index) {
  const auto words = filled(7);
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(words[i], pattern_word(i, 7)) << i;
  }
  EXPECT_EQ(find_mismatch(words.data(), words.size(), 7), std::nullopt);
}

TEST_P(PatternBuffer, one_flipped_bit_is_found_at_the_first_middle_and_last_word) {
  for (const std::size_t place : {std::size_t{0}, GetParam() / 2, GetParam() - 1}) {
    auto words = filled(7);
    words[place] ^= 1U << (place % 32);
    EXPECT_EQ(find_mismatch(words.data(), words.size(), 7), place);
  }
}

TEST_P(PatternBuffer, the_first_of_several_mismatches_is_named) {
  auto words = filled(7);
  for (std::size_t place = GetParam() / 3; place < GetParam(); place += 97) {
    words[place] = ~words[place];
  }
  EXPECT_EQ(find_mismatch(words.data(), words.size(), 7), GetParam() / 3);
}

TEST_P(PatternBuffer, another_seed_is_another_pattern) {
  const auto words = filled(7);
  const auto mismatch = find_mismatch(words.data(), words.size(), 8);
  ASSERT_TRUE(mismatch.has_value());
  EXPECT_LT(*mismatch, 4U);
}

TEST_P(PatternBuffer, the_sum_is_that_of_its_words) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12345}, (std::uint64_t{1} << 32) - 5}) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < GetParam(); ++i) {
      sum += pattern_word(first + i, 3);
    }
    EXPECT_EQ(pattern_sum(first, GetParam(), 3), sum) << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Words, PatternBuffer, testing::Values(1, 31, kSmall, kLarge));

TEST(Pattern, an_empty_buffer_matches_and_sums_to_nothing) {
  EXPECT_EQ(find_mismatch(nullptr, 0, 1), std::nullopt);
  EXPECT_EQ(pattern_sum(9, 0, 1), 0U);
}

TEST(Pattern, neighbouring_words_and_seeds_have_nothing_in_common) {
  double differing_bits = 0;
  for (std::uint64_t i = 0; i < kSmall; ++i) {
    differing_bits += std::popcount(pattern_word(i, 1) ^ pattern_word(i + 1, 1));
    differing_bits += std::popcount(pattern_word(i, 1) ^ pattern_word(i, 2));
  }
  EXPECT_NEAR(differing_bits / (2 * kSmall), 16, 0.5);
}

TEST(Pattern, words_hardly_ever_repeat_so_that_a_shifted_copy_shows) {
  std::set<std::uint32_t> different;
  for (std::uint64_t i = 0; i < kSmall; ++i) {
    different.insert(pattern_word(i, 1));
  }
  EXPECT_EQ(different.size(), kSmall);
}

TEST(Pattern, the_upper_half_of_an_index_counts) {
  EXPECT_NE(pattern_word(1, 1), pattern_word((std::uint64_t{1} << 32) + 1, 1));
}

}  // namespace
}  // namespace grainscope
