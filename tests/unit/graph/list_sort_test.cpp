#include "list_sort.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace grainscope::graph {
namespace {

template <class Element>
void expect_sorted(std::vector<Element> list) {
  std::vector<Element> expected = list;
  const auto less = [](Element a, Element b) { return neighbour_of(a) < neighbour_of(b); };
  std::stable_sort(expected.begin(), expected.end(), less);
  std::vector<Element> spare(list.size());
  sort_list(list.data(), list.size(), spare.data());
  ASSERT_TRUE(std::is_sorted(list.begin(), list.end(), less)) << list.size();
  std::sort(list.begin(), list.end());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(list, expected);
}

TEST(ListSort, sorts_any_length_and_any_range_of_neighbours) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {0U, 1U, 2U, 95U, 96U, 97U, 1000U, 70000U}) {
    for (const int bits : {1, 8, 16, 24, 31, 32}) {
      std::vector<Neighbour> plain(count);
      std::vector<WeightedNeighbour> weighted(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t draw = random();
        plain[i] = static_cast<Neighbour>(draw >> 32 >> (32 - bits));
        weighted[i] = element_of<WeightedNeighbour>(plain[i], static_cast<Weight>(draw));
      }
      expect_sorted(plain);
      expect_sorted(weighted);
    }
  }
}

}  // namespace
}  // namespace grainscope::graph
