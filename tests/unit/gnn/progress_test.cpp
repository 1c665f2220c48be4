#include "progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace grainscope::gnn {
namespace {

TEST(Progress, tells_of_steps_that_are_done) {
  Progress progress;
  progress.reach(2);
  EXPECT_TRUE(progress.wait_for(0));
  EXPECT_TRUE(progress.wait_for(2));
}

TEST(Progress, who_waits_for_a_step_that_never_comes_is_told) {
  Progress progress;
  bool reached = true;
  std::thread waiting([&] { reached = progress.wait_for(4); });
  progress.reach(3);
  progress.end();
  waiting.join();
  EXPECT_FALSE(reached);
  EXPECT_TRUE(progress.wait_for(3));  // what was done stays done
}

// Two threads hand slots of a ring to one another, as feeding and training do: what one has written the other
// finds, and nothing is overwritten before it was read.
TEST(Progress, two_threads_share_a_ring_of_slots) {
  constexpr std::uint64_t kSteps = 20000;
  constexpr std::uint64_t kSlots = 2;
  std::vector<std::uint64_t> ring(kSlots);
  Progress written;
  Progress read;
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    for (std::uint64_t step = 0; step < kSteps && written.wait_for(step + 1); ++step) {
      wrong += ring[step % kSlots] != step ? 1 : 0;
      read.reach(step + 1);
    }
  });
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    if (step >= kSlots) {
      ASSERT_TRUE(read.wait_for(step - kSlots + 1));
    }
    ring[step % kSlots] = step;
    written.reach(step + 1);
  }
  written.end();
  reader.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(read.wait_for(kSteps));
}

}  // namespace
}  // namespace grainscope::gnn
