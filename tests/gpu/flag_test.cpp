#include "grainscope/cuda/latency.hpp"

#include <chrono>
#include <optional>
#include <string>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
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
};

TEST_F(Flags, go_round_between_cpu_and_gpu_over_and_over) {
  HostPingPong ping_pong(0, {.rounds = 500});
  for (int i = 0; i < 5; ++i) {
    const double round_s = ping_pong.run() / 500;
    EXPECT_GT(round_s, 100e-9);
    EXPECT_LT(round_s, 1e-3);
  }
}

TEST_F(Flags, one_round_is_a_run_too) {
  EXPECT_GT(HostPingPong(0, {.rounds = 1}).run(), 0);
}

TEST_F(Flags, more_rounds_take_longer) {
  HostPingPong few(0, {.rounds = 200});
  HostPingPong many(0, {.rounds = 4000});
  static_cast<void>(few.run());
  EXPECT_GT(many.run(), 5 * few.run());
}

TEST_F(Flags, a_planted_loss_of_any_round_is_caught_within_a_second) {
  for (const std::uint32_t round : {1U, 77U, 100U}) {
    HostPingPong ping_pong(0, {.rounds = 100, .lost_round = round});
    EXPECT_LT(time_to_failure_s(ping_pong), 1) << round;
  }
}

TEST_F(Flags, the_gpu_is_usable_after_a_loss) {
  HostPingPong lossy(0, {.rounds = 100, .timeout_s = 0.05, .lost_round = 50});
  EXPECT_THROW(static_cast<void>(lossy.run()), FailedError);
  EXPECT_GT(HostPingPong(0, {.rounds = 100}).run(), 0);
}

// The same kernels and the same turns as between two GPUs, on one.
TEST_F(Flags, go_round_between_two_kernels_of_one_gpu) {
  PeerPingPong ping_pong(0, 0, {.rounds = 1000});
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(ping_pong.run() / 1000, 50e-9);
  }
}

TEST_F(Flags, a_planted_loss_between_two_kernels_is_caught_within_a_second) {
  for (const std::uint32_t round : {1U, 100U}) {
    PeerPingPong ping_pong(0, 0, {.rounds = 100, .lost_round = round});
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
  const PeerAccess there(link->from, link->to);
  const PeerAccess back(link->to, link->from);
  const DeviceGuard guard(link->from);
  PeerPingPong ping_pong(link->from, link->to, {.rounds = 1000});
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(ping_pong.run() / 1000, 100e-9);
  }
  PeerPingPong lossy(link->from, link->to, {.rounds = 100, .lost_round = 60});
  EXPECT_LT(time_to_failure_s(lossy), 1);
}

}  // namespace
}  // namespace grainscope::cuda
