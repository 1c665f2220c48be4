#include "grainscope/cuda/latency.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

using Order = Cycle::Order;

class Chases : public GpuTest {
 protected:
  // The links, as numbers of nodes, read without any of the chase's own code.
  static std::vector<std::uint64_t> links_in(const DeviceBuffer& memory) {
    std::vector<std::uint64_t> words(memory.bytes() / sizeof(std::uint64_t));
    check(cudaMemcpy(words.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToHost), "read a chain");
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    std::vector<std::uint64_t> links;
    for (std::size_t i = 0; i < words.size(); i += kChaseStride / sizeof(std::uint64_t)) {
      links.push_back((words[i] - base) / kChaseStride);
    }
    return links;
  }

  // Makes node `from` lead to node `to` of the same memory.
  static void plant(const DeviceBuffer& memory, std::uint64_t from, std::uint64_t to) {
    auto* base = static_cast<std::byte*>(memory.data());
    const void* link = base + to * kChaseStride;
    check(cudaMemcpy(base + from * kChaseStride, &link, sizeof(link), cudaMemcpyHostToDevice),
          "plant a link");
    check(cudaDeviceSynchronize(), "plant a link");
  }
};

TEST_F(Chases, lay_one_cycle_through_every_line) {
  for (const Order order : {Order::stride, Order::shuffled}) {
    for (const std::uint64_t bytes : {2 * kChaseStride, 4 * kKiB, kMiB}) {
      const DeviceBuffer memory(0, bytes);
      const Chase chase(0, {memory.data(), nullptr, bytes}, order);
      const auto links = links_in(memory);
      ASSERT_EQ(links.size(), chase.nodes());
      std::vector<bool> visited(links.size());
      std::uint64_t node = 0;
      for (std::size_t i = 0; i < links.size(); ++i) {
        ASSERT_LT(node, links.size());
        EXPECT_FALSE(visited[node]);
        visited[node] = true;
        node = links[node];
      }
      EXPECT_EQ(node, 0U);
      EXPECT_NO_THROW(chase.expect_one_cycle());
    }
  }
}

TEST_F(Chases, a_stride_goes_line_after_line) {
  const DeviceBuffer memory(0, 4 * kKiB);
  const Chase chase(0, {memory.data(), nullptr, memory.bytes()}, Order::stride);
  const auto links = links_in(memory);
  for (std::size_t i = 0; i < links.size(); ++i) {
    EXPECT_EQ(links[i], (i + 1) % links.size());
  }
}

TEST_F(Chases, walks_of_any_length_end_where_the_links_lead) {
  for (const Order order : {Order::stride, Order::shuffled}) {
    const DeviceBuffer memory(0, 64 * kKiB);
    Chase chase(0, {memory.data(), nullptr, memory.bytes()}, order);
    for (const std::uint64_t steps : {1U, 8U, 512U, 1000U, 4096U, 12344U}) {
      const int kernels = steps % 8 == 0 ? 8 : 1;
      EXPECT_GT(chase.walk(steps, kernels), 0) << steps;
    }
  }
}

TEST_F(Chases, walk_host_memory_by_the_gpus_addresses) {
  const PinnedBuffer memory(2 * kMiB, PinnedBuffer::Kind::cached);
  for (const Order order : {Order::stride, Order::shuffled}) {
    Chase chase(0, {memory.device_data(), memory.data(), memory.bytes()}, order);
    EXPECT_NO_THROW(chase.expect_one_cycle());
    EXPECT_GT(chase.walk(4096, 8), 4096 * 100e-9) << "host memory is not that near";
  }
}

TEST_F(Chases, twice_the_steps_take_about_twice_the_time) {
  const DeviceBuffer memory(0, 2 * kMiB);
  Chase chase(0, {memory.data(), nullptr, memory.bytes()}, Order::shuffled);
  static_cast<void>(chase.walk(65536, 8));
  const double once_s = chase.walk(65536, 8);
  const double twice_s = chase.walk(131072, 8);
  EXPECT_NEAR(twice_s / once_s, 2, 0.4);
  // Twenty cycles at 3 GHz: a load that waited for nothing would be faster.
  EXPECT_GT(once_s / 65536, 20 / 3e9);
}

TEST_F(Chases, far_memory_takes_longer_than_near_memory) {
  const DeviceBuffer small(0, 32 * kKiB);
  const DeviceBuffer large(0, 512 * kMiB);
  Chase near(0, {small.data(), nullptr, small.bytes()}, Order::shuffled);
  Chase far(0, {large.data(), nullptr, large.bytes()}, Order::shuffled);
  static_cast<void>(near.walk(1 << 18, 1));
  static_cast<void>(far.walk(1 << 14, 1));
  EXPECT_LT(near.walk(1 << 18, 1) / (1 << 18) * 3, far.walk(1 << 14, 1) / (1 << 14));
}

TEST_F(Chases, a_planted_short_cut_is_caught_by_the_check_and_by_the_walk) {
  const DeviceBuffer memory(0, 64 * kKiB);
  Chase chase(0, {memory.data(), nullptr, memory.bytes()}, Order::stride);
  ASSERT_NO_THROW(static_cast<void>(chase.walk(512, 1)));
  plant(memory, 100, 0);
  EXPECT_THROW(chase.expect_one_cycle(), FailedError);
  EXPECT_THROW(static_cast<void>(chase.walk(512, 1)), FailedError);
}

TEST_F(Chases, a_planted_detour_around_one_node_is_caught) {
  const DeviceBuffer memory(0, 64 * kKiB);
  Chase chase(0, {memory.data(), nullptr, memory.bytes()}, Order::stride);
  plant(memory, 7, 9);
  EXPECT_THROW(chase.expect_one_cycle(), FailedError);
  EXPECT_THROW(static_cast<void>(chase.walk(20, 1)), FailedError);
}

TEST_F(Chases, a_planted_link_out_of_the_memory_is_caught_before_anybody_follows_it) {
  const DeviceBuffer memory(0, 64 * kKiB);
  const Chase chase(0, {memory.data(), nullptr, memory.bytes()}, Order::shuffled);
  plant(memory, 3, memory.bytes() / kChaseStride);
  EXPECT_THROW(chase.expect_one_cycle(), FailedError);
}

TEST_F(Chases, what_cannot_hold_a_chain_is_refused) {
  const DeviceBuffer memory(0, 64 * kKiB);
  auto* data = static_cast<std::byte*>(memory.data());
  EXPECT_THROW(Chase(0, {data, nullptr, 3 * kKiB}, Order::stride), UsageError);
  EXPECT_THROW(Chase(0, {data, nullptr, kChaseStride}, Order::stride), UsageError);
  EXPECT_THROW(Chase(0, {data + 64, nullptr, kKiB}, Order::stride), UsageError);
  Chase chase(0, {data, nullptr, kKiB}, Order::stride);
  EXPECT_THROW(static_cast<void>(chase.walk(10, 4)), UsageError);
  EXPECT_THROW(static_cast<void>(chase.walk(0, 1)), UsageError);
}

TEST_F(Chases, walk_the_memory_of_a_peer) {
  std::optional<PeerLink> link;
  for (const PeerLink& candidate : runtime().peers) {
    link = candidate.access ? candidate : link;
  }
  if (!link) {
    GTEST_SKIP() << "needs two GPUs that can reach each other";
  }
  const PeerAccess access(link->from, link->to);
  const DeviceBuffer memory(link->to, 2 * kMiB);
  const DeviceGuard guard(link->from);
  for (const Order order : {Order::stride, Order::shuffled}) {
    Chase chase(link->from, {memory.data(), nullptr, memory.bytes()}, order);
    EXPECT_NO_THROW(chase.expect_one_cycle());
    EXPECT_GT(chase.walk(8192, 8), 0);
  }
}

}  // namespace
}  // namespace grainscope::cuda
