#include "grainscope/system/board_meter.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

constexpr double kPatience_s = 20;

std::optional<double> metered_w(const std::function<std::optional<std::uint64_t>()>& energy_mj) {
  const BoardMeter board(energy_mj);
  const double begun = steady_now_s();
  while (!board.is_done() && steady_now_s() - begun < kPatience_s) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(board.is_done());
  return board.power_w();
}

// As NVML's: it moves in steps.
std::function<std::optional<std::uint64_t>()> counter(double watts, double step_s) {
  return [=, begun = steady_now_s()]() -> std::optional<std::uint64_t> {
    const double steps = std::floor((steady_now_s() - begun) / step_s);
    return 1000 + static_cast<std::uint64_t>(std::llround(steps * step_s * watts * 1e3));
  };
}

TEST(BoardMeter, tells_the_power_between_two_moves_of_the_counter) {
  const auto power_w = metered_w(counter(300, 0.1));
  ASSERT_TRUE(power_w);
  EXPECT_NEAR(*power_w, 300, 60);  // a reader that waits for a CPU sees a move late
}

// What the board took before it was at work, 70 W, is in the first step.
TEST(BoardMeter, leaves_out_what_came_before) {
  const auto power_w = metered_w([begun = steady_now_s()]() -> std::optional<std::uint64_t> {
    const double steps = std::floor((steady_now_s() - begun) / 0.1);
    return steps < 1 ? 0 : static_cast<std::uint64_t>(std::llround(7000 + (steps - 1) * 50'000));
  });
  ASSERT_TRUE(power_w);
  EXPECT_NEAR(*power_w, 500, 100);
}

TEST(BoardMeter, of_a_board_without_a_counter_is_done_at_once) {
  EXPECT_EQ(metered_w([] { return std::nullopt; }), std::nullopt);
}

TEST(BoardMeter, of_a_counter_that_goes_away_or_back_tells_nothing) {
  EXPECT_EQ(metered_w([calls = 0]() mutable -> std::optional<std::uint64_t> {
              return ++calls > 3 ? std::nullopt : std::optional<std::uint64_t>(calls);
            }),
            std::nullopt);
  EXPECT_EQ(metered_w([calls = 100]() mutable -> std::optional<std::uint64_t> { return --calls; }),
            std::nullopt);
}

TEST(BoardMeter, does_not_wait_for_a_counter_that_stands_still) {
  const double begun = steady_now_s();
  {
    const BoardMeter board([] { return 5; });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(board.is_done());
    EXPECT_EQ(board.power_w(), std::nullopt);
  }
  EXPECT_LT(steady_now_s() - begun, kPatience_s);
}

}  // namespace
}  // namespace grainscope
