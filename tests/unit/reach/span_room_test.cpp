#include <gtest/gtest.h>

#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {
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

TEST(SpanKinds, have_the_names_that_cases_have) {
  EXPECT_STREQ(name(SpanKind::host_alloc), "host_alloc");
  EXPECT_STREQ(name(SpanKind::registered), "registered");
  EXPECT_STREQ(name(SpanKind::transparent_huge), "transparent_huge");
  EXPECT_STREQ(name(SpanKind::hugetlb), "hugetlb");
  EXPECT_STREQ(name(SpanKind::vmm_host), "vmm_host");
  EXPECT_STREQ(name(SpanKind::peer), "peer");
}

}  // namespace
}  // namespace grainscope::reach
