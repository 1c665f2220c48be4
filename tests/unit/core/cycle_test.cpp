#include "grainscope/core/cycle.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace grainscope {
namespace {

using Order = Cycle::Order;

TEST(Cycles, visit_every_place_once_and_return) {
  for (const Order order : {Order::stride, Order::shuffled}) {
    for (int bits = 1; bits <= 18; ++bits) {
      const Cycle cycle(order, bits);
      std::vector<bool> visited(cycle.places());
      std::uint64_t place = 0;
      for (std::uint64_t step = 0; step < cycle.places(); ++step) {
        ASSERT_LT(place, cycle.places());
        ASSERT_FALSE(visited[place]) << bits << " bits, step " << step;
        visited[place] = true;
        place = cycle.next(place);
      }
      EXPECT_EQ(place, 0U) << bits;
    }
  }
}

TEST(Cycles, know_where_a_walk_of_any_length_ends) {
  for (const Order order : {Order::stride, Order::shuffled}) {
    for (const int bits : {1, 2, 9, 14}) {
      const Cycle cycle(order, bits);
      std::uint64_t place = 0;
      for (std::uint64_t steps = 0; steps < 3 * cycle.places() + 5; ++steps) {
        ASSERT_EQ(cycle.after(steps), place) << bits << " bits, " << steps << " steps";
        place = cycle.next(place);
      }
    }
  }
}

TEST(Cycles, long_walks_end_where_their_remainder_does) {
  const Cycle cycle(Order::shuffled, 23);
  EXPECT_EQ(cycle.after((std::uint64_t{1} << 40) + 12345), cycle.after(12345));
  EXPECT_EQ(cycle.after(std::uint64_t{1} << 23), 0U);
}

TEST(Cycles, a_stride_goes_to_the_neighbour) {
  const Cycle cycle(Order::stride, 4);
  EXPECT_EQ(cycle.next(3), 4U);
  EXPECT_EQ(cycle.next(15), 0U);
}

// What makes a chain one that no cache, translation buffer or prefetcher can follow.
TEST(Cycles, shuffled_steps_are_far_and_alike_in_no_bit) {
  const Cycle cycle(Order::shuffled, 20);
  std::uint64_t near = 0;
  std::vector<std::uint64_t> flips(20);
  std::uint64_t same_distance = 0;
  std::uint64_t place = 0;
  std::uint64_t distance_before = 0;
  for (std::uint64_t step = 0; step < cycle.places(); ++step) {
    const std::uint64_t next = cycle.next(place);
    const std::uint64_t distance = (next - place) & (cycle.places() - 1);
    near += distance < 1024 || distance > cycle.places() - 1024 ? 1 : 0;
    same_distance += distance == distance_before ? 1 : 0;
    for (std::size_t bit = 0; bit < flips.size(); ++bit) {
      flips[bit] += (place ^ next) >> bit & 1;
    }
    distance_before = distance;
    place = next;
  }
  const auto places = static_cast<double>(cycle.places());
  EXPECT_LT(static_cast<double>(near) / places, 0.01);
  EXPECT_LT(static_cast<double>(same_distance) / places, 0.01);
  for (std::size_t bit = 0; bit < flips.size(); ++bit) {
    EXPECT_NEAR(static_cast<double>(flips[bit]) / places, 0.5, 0.1) << "bit " << bit;
  }
}

}  // namespace
}  // namespace grainscope
