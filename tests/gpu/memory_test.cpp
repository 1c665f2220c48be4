#include "grainscope/cuda/memory.hpp"

#include <cstring>
#include <utility>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::cuda {
namespace {

class Memory : public GpuTest {};

TEST_F(Memory, the_report_names_every_device) {
  for (const DeviceProperties& device : runtime().devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_TRUE(device.uuid.starts_with("GPU-"));
    EXPECT_GT(device.sm_count, 0);
    EXPECT_GT(device.total_memory_bytes, kGiB);
    EXPECT_GT(device.memory_clock_hz, 100'000'000U);
  }
}

TEST_F(Memory, a_buffer_larger_than_the_card_is_skipped_with_the_numbers) {
  try {
    const DeviceBuffer buffer(0, runtime().devices[0].total_memory_bytes);
    FAIL() << "more than the card was allocated";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
  }
}

TEST_F(Memory, that_was_given_back_is_taken_again_where_it_is_large_enough) {
  PinnedReserve reserve;
  PinnedBuffer small = reserve.take(kMiB, 0);
  PinnedBuffer large = reserve.take(4 * kMiB, 0);
  const void* const of_small = small.data();
  const void* const of_large = large.data();
  reserve.give_back(std::move(large), 0);
  reserve.give_back(std::move(small), 0);
  // The smallest that fits; of another node, or larger than all, another.
  PinnedBuffer again = reserve.take(2 * kMiB, 0);
  EXPECT_EQ(again.data(), of_large);
  EXPECT_EQ(again.bytes(), 4 * kMiB);
  EXPECT_NE(reserve.take(kMiB, 1).data(), of_small);
  EXPECT_GE(reserve.take(8 * kMiB, 0).bytes(), 8 * kMiB);
  EXPECT_EQ(reserve.take(1, 0).data(), of_small);
}

TEST_F(Memory, a_failed_call_says_what_was_tried_and_what_came_back) {
  try {
    check(cudaSetDevice(1000), "make GPU 1000 current");
    FAIL() << "there is no such GPU";
  } catch (const FailedError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("make GPU 1000 current"), std::string::npos) << text;
    EXPECT_NE(text.find("cudaErrorInvalidDevice"), std::string::npos) << text;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Memory, a_guard_restores_the_device_that_was_current) {
  check(cudaSetDevice(0), "make GPU 0 current");
  { const DeviceGuard guard(static_cast<int>(runtime().devices.size()) - 1); }
  int current = -1;
  check(cudaGetDevice(&current), "read the current GPU");
  EXPECT_EQ(current, 0);
}

// The proof that a managed sample rests on: pages leave the process's page table when they migrate.
TEST_F(Memory, managed_pages_are_seen_to_leave_the_host_and_to_return) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  ManagedBudget budget;
  const ManagedBuffer buffer(budget, 0, 4 * kMiB);
  const Stream stream;
  std::memset(buffer.data(), 1, buffer.bytes());
  auto presence = pages_present(buffer.data(), buffer.bytes());
  ASSERT_TRUE(presence.has_value());
  EXPECT_EQ(presence->absent, 0U);
  check(prefetch(buffer.data(), buffer.bytes(), Location::gpu(0), stream.get()), "prefetch to the GPU");
  stream.synchronize();
  presence = pages_present(buffer.data(), buffer.bytes());
  EXPECT_EQ(presence->present, 0U);
  std::memset(buffer.data(), 2, buffer.bytes());
  presence = pages_present(buffer.data(), buffer.bytes());
  EXPECT_EQ(presence->absent, 0U);
}

}  // namespace
}  // namespace grainscope::cuda
