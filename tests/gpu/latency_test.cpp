// Chases, flags and touches, and every case of the families of latencies and of calls, as the suite would
// run it.

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "family_fixture.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/latency.hpp"
#include "grainscope/system/topology.hpp"

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
namespace {

class Flags : public GpuTest {
 protected:
  // Seconds that a run takes to be refused.
  template <class PingPong>
  static double time_to_failure_s(PingPong& ping_pong) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(static_cast<void>(ping_pong.run()), FailedError);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  static constexpr FlagSpec kWithItself{.between_gpus = true};

  const Topology topology_ = Topology::read();
  const FlagSpec with_cpu_{.node = topology_.usable_nodes().front()};
};

TEST_F(Flags, go_round_between_cpu_and_gpu_over_and_over) {
  HostPingPong ping_pong(with_cpu_, topology_, {.rounds = 500});
  for (int i = 0; i < 5; ++i) {
    const double round_s = ping_pong.run() / 500;
    EXPECT_GT(round_s, 100e-9);
    EXPECT_LT(round_s, 1e-3);
  }
}

TEST_F(Flags, one_round_is_a_run_too) {
  EXPECT_GT(HostPingPong(with_cpu_, topology_, {.rounds = 1}).run(), 0);
}

TEST_F(Flags, more_rounds_take_longer) {
  HostPingPong few(with_cpu_, topology_, {.rounds = 200});
  HostPingPong many(with_cpu_, topology_, {.rounds = 4000});
  static_cast<void>(few.run());
  EXPECT_GT(many.run(), 5 * few.run());
}

TEST_F(Flags, a_planted_loss_of_any_round_is_caught_within_a_second) {
  for (const std::uint32_t round : {1U, 77U, 100U}) {
    HostPingPong ping_pong(with_cpu_, topology_, {.rounds = 100, .lost_round = round});
    EXPECT_LT(time_to_failure_s(ping_pong), 1) << round;
  }
}

TEST_F(Flags, the_gpu_is_usable_after_a_loss) {
  HostPingPong lossy(with_cpu_, topology_, {.rounds = 100, .timeout_s = 0.05, .lost_round = 50});
  EXPECT_THROW(static_cast<void>(lossy.run()), FailedError);
  EXPECT_GT(HostPingPong(with_cpu_, topology_, {.rounds = 100}).run(), 0);
}

// The same kernels and the same turns as between two GPUs, on one.
TEST_F(Flags, go_round_between_two_kernels_of_one_gpu) {
  PeerPingPong ping_pong(kWithItself, {.rounds = 1000});
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(ping_pong.run() / 1000, 50e-9);
  }
}

TEST_F(Flags, a_planted_loss_between_two_kernels_is_caught_within_a_second) {
  for (const std::uint32_t round : {1U, 100U}) {
    PeerPingPong ping_pong(kWithItself, {.rounds = 100, .lost_round = round});
    EXPECT_LT(time_to_failure_s(ping_pong), 1) << round;
  }
}

TEST_F(Flags, go_round_between_two_gpus) {
  std::optional<PeerLink> link;
  for (const PeerLink& candidate : runtime().peers) {
    link = candidate.access ? candidate : link;
  }
  if (!link) {
    GTEST_SKIP() << "needs two GPUs that can reach each other";
  }
  const FlagSpec between{.between_gpus = true, .gpu = link->from, .peer = link->to};
  PeerPingPong ping_pong(between, {.rounds = 1000});
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(ping_pong.run() / 1000, 100e-9);
  }
  PeerPingPong lossy(between, {.rounds = 100, .lost_round = 60});
  EXPECT_LT(time_to_failure_s(lossy), 1);
}

}  // namespace
namespace {

class ManagedTouches : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !runtime().devices[0].concurrent_managed_access) {
      GTEST_SKIP() << "managed memory does not migrate on demand here";
    }
  }

  [[nodiscard]] TouchSpec spec(bool to_gpu, std::optional<int> from_peer = {}) const {
    return {to_gpu, 0, topology_.usable_nodes().front(), from_peer};
  }

  const Topology topology_ = Topology::read();
  ManagedBudget budget_;
};

TEST_F(ManagedTouches, move_every_page_each_way_over_and_over) {
  for (const bool to_gpu : {true, false}) {
    SCOPED_TRACE(to_gpu ? "to the GPU" : "to the host");
    ManagedTouch touch(spec(to_gpu), topology_, budget_, 4);
    EXPECT_EQ(touch.pages(), 16U);
    for (int i = 0; i < 4; ++i) {
      touch.prepare();
      const double seconds = touch.run();
      EXPECT_GT(seconds / 16, 500e-9) << "no fault is answered that fast";
      EXPECT_LT(seconds / 16, 10e-3);
    }
    EXPECT_TRUE(touch.residency_known());
  }
}

TEST_F(ManagedTouches, move_every_page_from_a_peer_and_a_second_sample_is_caught) {
  if (runtime().devices.size() < 2 || !runtime().devices[1].concurrent_managed_access) {
    GTEST_SKIP() << "needs two GPUs whose managed memory migrates on demand";
  }
  ManagedTouch touch(spec(true, 1), topology_, budget_, 4);
  for (int i = 0; i < 4; ++i) {
    touch.prepare();
    EXPECT_GT(touch.run() / 16, 500e-9) << "no fault is answered that fast";
  }
  EXPECT_THROW(static_cast<void>(touch.run()), FailedError) << "its pages do not live on the peer";
  EXPECT_THROW(ManagedTouch(spec(true, 0), topology_, budget_, 4), UsageError);
  EXPECT_THROW(ManagedTouch(spec(false, 1), topology_, budget_, 4), UsageError);
}

TEST_F(ManagedTouches, more_pages_take_longer) {
  for (const bool to_gpu : {true, false}) {
    ManagedTouch few(spec(to_gpu), topology_, budget_, 2);
    ManagedTouch many(spec(to_gpu), topology_, budget_, 6);
    double few_s = 0;
    double many_s = 0;
    for (int i = 0; i < 5; ++i) {
      few.prepare();
      few_s += few.run();
      many.prepare();
      many_s += many.run();
    }
    EXPECT_GT(many_s, 4 * few_s) << (to_gpu ? "to the GPU" : "to the host");
  }
}

TEST_F(ManagedTouches, a_sample_of_pages_that_are_there_already_is_caught) {
  for (const bool to_gpu : {true, false}) {
    ManagedTouch touch(spec(to_gpu), topology_, budget_, 3);
    touch.prepare();
    static_cast<void>(touch.run());
    if (!touch.residency_known()) {
      GTEST_SKIP() << "the system does not tell where pages live";
    }
    EXPECT_THROW(static_cast<void>(touch.run()), FailedError) << (to_gpu ? "to the GPU" : "to the host");
  }
}

TEST_F(ManagedTouches, more_than_the_budget_has_is_skipped) {
  int bits = 0;
  while ((ManagedTouch::kBlockBytes << bits) < memory_info(0).free_bytes) {
    ++bits;
  }
  EXPECT_THROW(ManagedTouch(spec(true), topology_, budget_, bits), SkipError);
}

}  // namespace
}  // namespace grainscope::cuda

// Every case of the families of latencies and of calls, as the suite would run it.

namespace grainscope::harness {
namespace {

class LatencyFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family, Preset preset) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : listed(family, preset)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (measurement) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_GT(measurement->operations, 0U);
      }
    }
    EXPECT_GT(measured, 0U);
  }
};

TEST_F(LatencyFamilies, every_chase_measures) {
  expect_all_to_measure(latency_chase(), Preset::quick);
}

TEST_F(LatencyFamilies, every_flag_measures) {
  expect_all_to_measure(latency_flag(), Preset::quick);
}

TEST_F(LatencyFamilies, every_managed_touch_measures) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  expect_all_to_measure(latency_managed_touch(), Preset::quick);
}

TEST_F(LatencyFamilies, every_call_measures) {
  expect_all_to_measure(call(), Preset::smoke);
}

TEST_F(LatencyFamilies, a_planted_load_faster_than_light_is_called_impossible) {
  for (const Benchmark& benchmark : listed(latency_chase(), Preset::smoke)) {
    auto measurement = run(benchmark);
    if (measurement) {
      measurement->operations *= 1000;
      EXPECT_TRUE(why_impossible(*measurement).starts_with("impossible")) << benchmark.id.name();
    }
  }
}

}  // namespace
}  // namespace grainscope::harness
