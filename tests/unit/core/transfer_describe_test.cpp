#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "grainscope/core/units.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {
namespace {

constexpr std::uint64_t kBytes = 64 * kMiB;
constexpr bool kKept = false;  // the GPU's caches keep every sector
constexpr bool kLost = true;   // and keep none

using BySize = std::map<int, std::uint64_t>;

Walk merged(int offset_bytes, int width_bytes = 4) {
  Walk walk;
  walk.offset_bytes = offset_bytes;
  walk.width_bytes = width_bytes;
  return walk;
}

Walk strided(int width_bytes = 4) {
  Walk walk;
  walk.pattern = Walk::Pattern::strided;
  walk.width_bytes = width_bytes;
  return walk;
}

void expect_traffic(const Traffic& traffic, const BySize& by_size, double amplification) {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  for (const auto& [size, count] : by_size) {
    requests += count;
    bytes += count * static_cast<std::uint64_t>(size);
  }
  EXPECT_EQ(traffic.requests_by_size, by_size);
  EXPECT_EQ(traffic.requests, requests);
  EXPECT_EQ(traffic.bytes, bytes);
  EXPECT_DOUBLE_EQ(traffic.amplification, amplification);
  EXPECT_FALSE(traffic.counted);
}

TEST(WalkTraffic, aligned_is_one_request_of_128_bytes_a_line) {
  expect_traffic(walk_traffic(merged(0), kBytes, kLost), {{128, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(0), kBytes, kKept), {{128, 524'288}}, 1);
}

TEST(WalkTraffic, off_by_32_bytes_is_two_requests_of_96_and_32) {
  expect_traffic(walk_traffic(merged(32), kBytes, kLost), {{32, 524'288}, {96, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(32), kBytes, kKept), {{32, 524'288}, {96, 524'288}}, 1);
}

TEST(WalkTraffic, off_by_64_bytes_is_two_requests_of_64) {
  expect_traffic(walk_traffic(merged(64), kBytes, kLost), {{64, 1'048'576}}, 1);
}

TEST(WalkTraffic, off_by_4_bytes_reads_a_sector_twice_unless_a_cache_keeps_it) {
  expect_traffic(walk_traffic(merged(4), kBytes, kLost), {{32, 524'288}, {128, 524'288}}, 1.25);
  expect_traffic(walk_traffic(merged(4), kBytes, kKept), {{32, 524'288}, {96, 524'288}}, 1);
}

TEST(WalkTraffic, wider_accesses_of_a_warp_span_several_lines) {
  expect_traffic(walk_traffic(merged(0, 8), kBytes, kLost), {{128, 524'288}}, 1);
  expect_traffic(walk_traffic(merged(0, 16), kBytes, kLost), {{128, 524'288}}, 1);
  const Traffic one_warp_of_8 = walk_traffic(merged(0, 8), 256, kLost);
  EXPECT_EQ(one_warp_of_8.requests, 2U);
  const Traffic one_warp_of_16 = walk_traffic(merged(0, 16), 512, kLost);
  expect_traffic(one_warp_of_16, {{128, 4}}, 1);
}

TEST(WalkTraffic, wider_accesses_off_by_32_bytes_share_the_two_cut_requests) {
  // 512 bytes from byte 32 on: three sectors, three whole lines, one sector.
  expect_traffic(walk_traffic(merged(32, 16), kBytes, kLost), {{32, 131'072}, {96, 131'072}, {128, 393'216}},
                 1);
}

TEST(WalkTraffic, strided_is_a_request_a_sector_where_a_cache_keeps_them) {
  for (const int width : {4, 8, 16}) {
    expect_traffic(walk_traffic(strided(width), kBytes, kKept), {{32, 2'097'152}}, 1);
  }
}

TEST(WalkTraffic, strided_is_a_request_an_element_without_a_cache) {
  expect_traffic(walk_traffic(strided(4), kBytes, kLost), {{32, 16'777'216}}, 8);
  expect_traffic(walk_traffic(strided(8), kBytes, kLost), {{32, 8'388'608}}, 4);
  expect_traffic(walk_traffic(strided(16), kBytes, kLost), {{32, 4'194'304}}, 2);
}

TEST(WalkTraffic, without_a_cache_is_never_less) {
  for (const int offset : {0, 16, 32, 48, 64, 96, 112}) {
    for (const int width : {4, 8, 16}) {
      EXPECT_GE(walk_traffic(merged(offset, width), kBytes, kLost).bytes,
                walk_traffic(merged(offset, width), kBytes, kKept).bytes);
      EXPECT_EQ(walk_traffic(merged(offset, width), kBytes, kKept).bytes, kBytes);
    }
  }
}

TEST(AccessName, tells_strided_merged_and_aligned_apart) {
  EXPECT_STREQ(access_name(strided()), "strided");
  EXPECT_STREQ(access_name(merged(0)), "merged_aligned");
  EXPECT_STREQ(access_name(merged(4)), "merged");
  EXPECT_STREQ(access_name(merged(64)), "merged");
}

TEST(Transfer, knows_its_ends_in_both_directions) {
  Transfer copy;
  copy.source = Endpoint::host(Placement::pinned, 1);
  copy.destination = Endpoint::gpu(Placement::device, 2);
  EXPECT_TRUE(copy.to_gpu());
  EXPECT_EQ(copy.host_end().id, 1);
  EXPECT_EQ(copy.gpu_end().id, 2);
  std::swap(copy.source, copy.destination);
  EXPECT_FALSE(copy.to_gpu());
  EXPECT_EQ(copy.host_end().id, 1);
  EXPECT_EQ(copy.gpu_end().id, 2);
}

TEST(PlacementName, every_placement_has_its_own) {
  EXPECT_STREQ(name(Placement::pageable), "pageable");
  EXPECT_STREQ(name(Placement::pinned), "pinned");
  EXPECT_STREQ(name(Placement::registered), "registered");
  EXPECT_STREQ(name(Placement::write_combined), "write_combined");
  EXPECT_STREQ(name(Placement::mapped), "mapped");
  EXPECT_STREQ(name(Placement::managed), "managed");
  EXPECT_STREQ(name(Placement::device), "device");
}

TEST(AllocationName, every_allocation_has_its_own) {
  EXPECT_STREQ(name(Allocation::host_alloc), "host_alloc");
  EXPECT_STREQ(name(Allocation::registered), "registered");
  EXPECT_STREQ(name(Allocation::accessed_by), "accessed_by");
}

}  // namespace
}  // namespace grainscope::transfer
