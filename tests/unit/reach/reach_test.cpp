// Which rows a far gather asks for, and how large a span a machine has room for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "../../testing/oracles.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/reach/row_gather.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {
namespace {

GatherRequest request_of(std::uint64_t rows, std::uint64_t span_bytes, bool sorted = false) {
  GatherRequest request;
  request.rows = rows;
  request.span_bytes = span_bytes;
  request.sorted = sorted;
  return request;
}

TEST(MultiplyHigh, is_the_upper_half_of_the_product) {
  EXPECT_EQ(multiply_high(0, UINT64_MAX), 0U);
  EXPECT_EQ(multiply_high(UINT64_MAX, 1), 0U);
  EXPECT_EQ(multiply_high(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(multiply_high(std::uint64_t{1} << 63, 2), 1U);
  EXPECT_EQ(multiply_high(std::uint64_t{1} << 32, std::uint64_t{1} << 32), 1U);
  // 0x123456789abcdef0 * 0xfedcba9876543210, by hand with longer numbers.
  EXPECT_EQ(multiply_high(0x123456789abcdef0U, 0xfedcba9876543210U), 0x121fa00ad77d7422U);
}

TEST(RandomRow, stays_inside_the_span_and_reaches_all_of_it) {
  for (const std::uint64_t rows : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 33}) {
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      const std::uint64_t row = random_row(i, rows, 1);
      ASSERT_LT(row, rows);
      least = std::min(least, row);
      most = std::max(most, row);
    }
    EXPECT_LE(least, rows / 1000);
    EXPECT_GE(most, rows - 1 - rows / 1000);
  }
}

// Chi-square over 64 equal parts: 63 degrees of freedom, a deviation of 5 standard deviations fails.
TEST(RandomRow, is_uniform_for_every_seed) {
  constexpr std::size_t kParts = 64;
  constexpr std::uint64_t kDraws = 64 * 1000;
  constexpr std::uint64_t kRows = kParts * 12345;
  for (const std::uint64_t seed : {0U, 1U, 2U, 1000U}) {
    std::array<double, kParts> counts{};
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      ++counts[random_row(i, kRows, seed) / 12345];
    }
    double chi_square = 0;
    for (const double count : counts) {
      chi_square += (count - 1000) * (count - 1000) / 1000;
    }
    EXPECT_LT(std::abs(chi_square - 63), 5 * std::sqrt(2.0 * 63)) << seed;
  }
}

TEST(RowList, the_lists_of_a_gather_differ_and_come_out_the_same_each_time) {
  const GatherRequest request = request_of(1000, kGiB);
  std::set<std::vector<std::uint64_t>> lists;
  for (int list = 0; list < kLists; ++list) {
    lists.insert(row_list(request, list));
    EXPECT_EQ(row_list(request, list), row_list(request, list));
  }
  EXPECT_EQ(lists.size(), static_cast<std::size_t>(kLists));
}

TEST(RowList, seeds_share_no_list) {
  GatherRequest first = request_of(1000, kGiB);
  GatherRequest second = first;
  second.seed = first.seed + 1;
  for (int list = 0; list < kLists; ++list) {
    for (int other = 0; other < kLists; ++other) {
      EXPECT_NE(row_list(first, list), row_list(second, other));
    }
  }
}

TEST(RowList, sorted_asks_for_the_same_rows_in_the_order_of_their_addresses) {
  auto asked = row_list(request_of(1000, kMiB), 2);
  const auto sorted = row_list(request_of(1000, kMiB, true), 2);
  EXPECT_FALSE(std::is_sorted(asked.begin(), asked.end()));
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, sorted);
}

TEST(DistinctRows, counts_each_once) {
  EXPECT_EQ(distinct_rows({}), 0U);
  EXPECT_EQ(distinct_rows({5, 5, 5}), 1U);
  EXPECT_EQ(distinct_rows({3, 1, 2, 1}), 3U);
}

// A list as long as the span has rows leaves 1/e of them out.
TEST(DistinctRows, are_as_many_as_chance_says) {
  const GatherRequest request = request_of(1 << 16, (1 << 16) * 128);
  const auto distinct = static_cast<double>(distinct_rows(row_list(request, 0)));
  EXPECT_NEAR(distinct / (1 << 16), 1 - std::exp(-1), 0.01);
}

TEST(SumOfRows, adds_up_the_words_of_each_row_as_often_as_it_is_asked_for) {
  std::uint64_t sum = 0;
  for (std::uint64_t word = 0; word < 8; ++word) {
    sum += 2 * std::uint64_t{pattern_word(3 * 8 + word, 1)} + pattern_word(word, 1);
  }
  const std::vector<std::uint64_t> rows{3, 0, 3};
  EXPECT_EQ(sum_of_rows(rows, 32, 1), sum);
  EXPECT_NE(sum_of_rows(rows, 32, 2), sum);
}

TEST(GatherRequests, that_cannot_be_are_refused_with_the_numbers) {
  EXPECT_NO_THROW(require_possible(request_of(1, 128)));
  for (const std::uint64_t row : {0U, 16U, 48U, 8192U}) {
    GatherRequest request = request_of(1, 3 * 8192);
    request.row_bytes = row;
    EXPECT_THROW(require_possible(request), UsageError) << row;
  }
  EXPECT_THROW(require_possible(request_of(0, 128)), UsageError);
  EXPECT_THROW(require_possible(request_of(1, 0)), UsageError);
  EXPECT_THROW(require_possible(request_of(1, 100)), UsageError);
}

}  // namespace
namespace {

AvailableMemory group_and_meminfo(std::uint64_t cgroup_bytes, std::uint64_t meminfo_bytes) {
  AvailableMemory available;
  available.cgroup_bytes = cgroup_bytes;
  available.meminfo_bytes = meminfo_bytes;
  return available;
}

AvailableMemory meminfo_alone(std::uint64_t bytes) {
  AvailableMemory available;
  available.meminfo_bytes = bytes;
  return available;
}

TEST(CanTake, leaves_a_tenth_and_two_gib) {
  EXPECT_EQ(can_take(meminfo_alone(100 * kGiB)), 88 * kGiB);
  EXPECT_EQ(can_take(meminfo_alone(2 * kGiB)), 0U);
  EXPECT_EQ(can_take(meminfo_alone(0)), 0U);
}

// MemTotal, and MemAvailable with it, grows on some virtual machines as memory is touched.
TEST(CanTake, goes_by_the_control_group_where_there_is_one) {
  EXPECT_EQ(can_take(group_and_meminfo(100 * kGiB, 8 * kGiB)), 88 * kGiB);
}

TEST(CanTake, is_without_bound_where_nothing_is_told) {
  EXPECT_EQ(can_take({}), UINT64_MAX);
  EXPECT_EQ(room_for_more({}, {}, kGiB), UINT64_MAX);
}

TEST(RoomForMore, shrinks_with_what_is_held_although_the_group_is_not_charged) {
  const AvailableMemory same = group_and_meminfo(100 * kGiB, 1000 * kGiB);
  EXPECT_EQ(room_for_more(same, same, 0), 88 * kGiB);
  EXPECT_EQ(room_for_more(same, same, 80 * kGiB), 8 * kGiB);
  EXPECT_EQ(room_for_more(same, same, 90 * kGiB), 0U);
}

TEST(RoomForMore, shrinks_with_the_group_when_others_take_too) {
  const AvailableMemory before = group_and_meminfo(100 * kGiB, 1000 * kGiB);
  EXPECT_EQ(room_for_more(before, group_and_meminfo(20 * kGiB, 1000 * kGiB), kGiB), 16 * kGiB);
}

TEST(RoomForMore, grows_with_meminfo_below_a_group_that_allows_it) {
  const AvailableMemory before = group_and_meminfo(100 * kGiB, 4 * kGiB);
  EXPECT_EQ(room_for_more(before, before, 0), 3 * kGiB);
  EXPECT_EQ(room_for_more(before, group_and_meminfo(90 * kGiB, 12 * kGiB), 10 * kGiB), 11 * kGiB);
}

// A group's limit may lie above what the machine has.
TEST(RoomForMore, keeps_a_gib_available_whatever_the_group_allows) {
  const AvailableMemory now = group_and_meminfo(900 * kGiB, kGiB + kMiB);
  EXPECT_EQ(room_for_more(group_and_meminfo(1000 * kGiB, 100 * kGiB), now, 90 * kGiB), kMiB);
  EXPECT_EQ(room_for_more(now, group_and_meminfo(900 * kGiB, kMiB), 0), 0U);
}

TEST(RoomForMore, goes_by_meminfo_where_there_is_no_group) {
  EXPECT_EQ(room_for_more(meminfo_alone(10 * kGiB), meminfo_alone(100 * kGiB), 0), 88 * kGiB);
}

TEST(MemoryKinds, have_the_names_that_cases_have) {
  EXPECT_STREQ(name(cuda::MemoryKind::host_alloc), "host_alloc");
  EXPECT_STREQ(name(cuda::MemoryKind::registered), "registered");
  EXPECT_STREQ(name(cuda::MemoryKind::transparent_huge), "transparent_huge");
  EXPECT_STREQ(name(cuda::MemoryKind::hugetlb), "hugetlb");
  EXPECT_STREQ(name(cuda::MemoryKind::vmm_host), "vmm_host");
  EXPECT_STREQ(name(cuda::MemoryKind::managed_host), "managed_host");
  EXPECT_STREQ(name(cuda::MemoryKind::peer), "peer");
}

}  // namespace
}  // namespace grainscope::reach
