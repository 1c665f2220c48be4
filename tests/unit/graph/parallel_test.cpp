// Chunks of a graph's work, and sorting of its lists.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "../../testing/sample_graphs.hpp"
#include "parallel.hpp"

namespace grainscope::graph {
namespace {

// Lists of many lengths, long ones first, last and in the middle, and vertices without any.
Csr uneven_graph() {
  constexpr Vertex kVertices = 300000;
  std::vector<Triple> edges = random_edges(kVertices, 400000, 6, true);
  for (const Vertex hub : {Vertex{0}, kVertices / 2, kVertices - 1}) {
    for (Vertex v = 0; v < kVertices; v += 2) {
      edges.push_back({hub, v, 1});
    }
  }
  return weighted_graph(kVertices, edges, true);
}

TEST(EdgeChunks, hold_every_vertex_once_and_about_as_much_work_each) {
  const Csr graph = uneven_graph();
  const EdgeChunks chunks(graph);
  const double mean =
      static_cast<double>(graph.edges() + graph.vertices()) / static_cast<double>(chunks.size());
  EXPECT_GT(chunks.size(), 4U);
  EXPECT_EQ(chunks.first(0), 0U);
  EXPECT_EQ(chunks.first(chunks.size()), graph.vertices());
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex first = chunks.first(chunk);
    const Vertex last = chunks.first(chunk + 1);
    ASSERT_LE(first, last);
    if (first + 1 < last) {  // the last list may be as long as it likes
      EXPECT_LE(static_cast<double>(graph.offsets[last - 1] - graph.offsets[first] + (last - 1 - first)),
                mean * 1.5);
    }
  }
}

TEST(EdgeChunks, every_vertex_is_visited_and_added_up_once) {
  const Csr graph = uneven_graph();
  const Threads guard(3);
  std::vector<int> visits(graph.vertices());
  for_all(graph, [&](Vertex v) { ++visits[v]; });
  EXPECT_EQ(visits, std::vector<int>(graph.vertices(), 1));
  const double count = graph.vertices();
  EXPECT_EQ(sum_of(graph, [](Vertex v) { return static_cast<double>(v); }), count * (count - 1) / 2);
}

TEST(EdgeChunks, the_lowest_wrong_vertex_is_found) {
  const Csr graph = uneven_graph();
  const Threads guard(3);
  for (const Vertex lowest : {0U, 1U, 77777U, 299999U}) {
    EXPECT_EQ(first_wrong(graph, [&](Vertex v) { return v >= lowest; }), lowest);
  }
  EXPECT_EQ(first_wrong(graph, [](Vertex) { return false; }), std::nullopt);
  EXPECT_EQ(first_wrong(Csr{}, [](Vertex) { return true; }), std::nullopt);
}

}  // namespace
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
