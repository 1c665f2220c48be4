#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"

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
namespace {

constexpr std::size_t kLine = 64;

// Memory for a chase, and the links that lie in it.
class Buffer {
 public:
  explicit Buffer(std::size_t lines) : bytes_(lines * kLine + kLine) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    data_ = bytes_.data() + (kLine - address % kLine) % kLine;
  }

  [[nodiscard]] std::byte* data() { return data_; }
  [[nodiscard]] std::byte* line(std::size_t i) { return data_ + i * kLine; }
  [[nodiscard]] std::byte* next(const std::byte* line) const {
    std::byte* target = nullptr;
    std::memcpy(&target, line, sizeof(target));
    return target;
  }
  void link(std::byte* from, std::byte* to) const { std::memcpy(from, &to, sizeof(to)); }

 private:
  std::vector<std::byte> bytes_;
  std::byte* data_;
};

TEST(PointerChase, one_cycle_passes_every_line_once) {
  for (const std::size_t lines : {2U, 3U, 64U, 1000U}) {
    Buffer buffer(lines);
    const PointerChase chase(buffer.data(), lines * kLine, kLine);
    EXPECT_EQ(chase.lines(), lines);
    EXPECT_TRUE(chase.is_one_cycle());
    std::set<std::byte*> seen;
    std::byte* here = buffer.data();
    for (std::size_t i = 0; i < lines; ++i) {
      ASSERT_TRUE(seen.insert(here).second) << "line met twice";
      ASSERT_EQ(static_cast<std::size_t>(here - buffer.data()) % kLine, 0U);
      ASSERT_LT(static_cast<std::size_t>(here - buffer.data()), lines * kLine);
      here = buffer.next(here);
    }
    EXPECT_EQ(here, buffer.data());
  }
}

TEST(PointerChase, a_line_that_links_to_itself_is_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  buffer.link(buffer.line(17), buffer.line(17));
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, a_cycle_that_leaves_lines_out_is_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  std::byte* before = buffer.line(40);
  buffer.link(before, buffer.next(buffer.next(before)));
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, two_cycles_are_damage) {
  Buffer buffer(64);
  const PointerChase chase(buffer.data(), 64 * kLine, kLine);
  std::byte* one = buffer.next(buffer.line(0));
  std::byte* other = buffer.next(buffer.line(20));
  buffer.link(buffer.line(0), other);
  buffer.link(buffer.line(20), one);
  EXPECT_FALSE(chase.is_one_cycle());
}

// A cycle through a third of the lines on which every place that the check begins at leads to the next.
TEST(PointerChase, a_short_cycle_through_all_places_of_the_check_is_damage) {
  constexpr std::size_t kPlaces = 16;
  Buffer buffer(3 * kPlaces);
  const PointerChase chase(buffer.data(), 3 * kPlaces * kLine, kLine);
  std::vector<std::byte*> places;
  std::byte* here = buffer.line(0);
  for (std::size_t i = 0; i < 3 * kPlaces; ++i) {
    if (i % 3 == 0) {
      places.push_back(here);
    }
    here = buffer.next(here);
  }
  for (std::size_t k = 0; k < kPlaces; ++k) {
    buffer.link(places[k], places[(k + 11) % kPlaces]);  // three times eleven is one beyond two rounds
  }
  EXPECT_FALSE(chase.is_one_cycle());
}

TEST(PointerChase, the_order_follows_from_the_seed) {
  Buffer first(256);
  Buffer second(256);
  const auto order = [](Buffer& buffer, std::uint64_t seed) {
    const PointerChase chase(buffer.data(), 256 * kLine, kLine, seed);
    std::vector<std::ptrdiff_t> offsets;
    for (std::size_t i = 0; i < chase.lines(); ++i) {
      offsets.push_back(buffer.next(buffer.line(i)) - buffer.data());
    }
    return offsets;
  };
  EXPECT_EQ(order(first, 5), order(second, 5));
  EXPECT_NE(order(first, 5), order(second, 6));
}

TEST(PointerChase, hardly_a_link_leads_to_the_next_line) {
  Buffer buffer(4096);
  const PointerChase chase(buffer.data(), 4096 * kLine, kLine);
  int neighbours = 0;
  for (std::size_t i = 0; i + 1 < chase.lines(); ++i) {
    neighbours += buffer.next(buffer.line(i)) == buffer.line(i + 1) ? 1 : 0;
  }
  EXPECT_LT(neighbours, 20);
}

TEST(PointerChase, a_walk_takes_time_and_leaves_the_links_alone) {
  Buffer buffer(1024);
  PointerChase chase(buffer.data(), 1024 * kLine, kLine);
  EXPECT_GT(chase.walk(1000), 0);
  EXPECT_GT(chase.walk(100'000), 100'000 * 0.05e-9);
  EXPECT_TRUE(chase.is_one_cycle());
}

TEST(PointerChase, fewer_than_two_lines_are_refused) {
  Buffer buffer(2);
  for (const std::size_t bytes : {std::size_t{0}, kLine - 1, kLine, 2 * kLine - 1}) {
    EXPECT_THROW(PointerChase(buffer.data(), bytes, kLine), UsageError) << bytes;
  }
}

}  // namespace
}  // namespace grainscope
