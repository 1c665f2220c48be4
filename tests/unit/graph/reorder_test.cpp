#include "grainscope/graph/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "grainscope/graph/generate.hpp"
#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

constexpr Order kAllOrders[] = {Order::original, Order::degree, Order::halo_like};

// The slow way: sorted by score, ties by number.
std::vector<Vertex> highest_first(const std::vector<double>& scores) {
  std::vector<Vertex> order(scores.size());
  std::iota(order.begin(), order.end(), Vertex{0});
  std::stable_sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return scores[a] > scores[b]; });
  return order;
}

TEST(Reorder, every_order_is_a_permutation) {
  for (const BothWays& both : all_sample_graphs()) {
    for (const Order order : kAllOrders) {
      std::vector<Vertex> vertices = order_of(both.graph, order);
      std::sort(vertices.begin(), vertices.end());
      EXPECT_EQ(vertices, order_of(both.graph, Order::original)) << both.graph.name << " " << name(order);
    }
  }
  for (const Order order : kAllOrders) {
    EXPECT_TRUE(order_of({}, order).empty());
  }
}

TEST(Reorder, original_keeps_every_number) {
  EXPECT_EQ(order_of(weighted_graph(4, {{3, 1, 1}}, false), Order::original),
            (std::vector<Vertex>{0, 1, 2, 3}));
}

// The slow way: sorted by degree, then twice by degree and whose neighbour comes first in the order before.
std::vector<Vertex> hubs_first(const Csr& graph) {
  std::vector<Vertex> order = order_of(graph, Order::original);
  std::vector<Vertex> first(graph.vertices());
  for (int round = 0; round < 3; ++round) {
    std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) {
      return std::tuple(graph.degree(b), first[a], a) < std::tuple(graph.degree(a), first[b], b);
    });
    std::map<Vertex, Vertex> places;
    for (Vertex place = 0; place < graph.vertices(); ++place) {
      places[order[place]] = place;
    }
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      first[v] = graph.vertices();
      for (const Vertex neighbour : graph.neighbours(v)) {
        first[v] = std::min(first[v], places[neighbour]);
      }
    }
  }
  return order;
}

TEST(Reorder, degree_falls_and_vertices_of_one_go_by_their_first_neighbours) {
  for (const BothWays& both : all_sample_graphs()) {
    EXPECT_EQ(order_of(both.graph, Order::degree), hubs_first(both.graph)) << both.graph.name;
  }
  // Leaves of three hubs, in turn: 3, 6, 9 of vertex 0, 4, 7, 10 of vertex 1, 5, 8, 11 of vertex 2.
  std::vector<Triple> edges;
  for (Vertex leaf = 3; leaf < 12; ++leaf) {
    edges.push_back({leaf % 3, leaf, 1});
  }
  EXPECT_EQ(order_of(weighted_graph(12, edges, false), Order::degree),
            (std::vector<Vertex>{0, 1, 2, 3, 6, 9, 4, 7, 10, 5, 8, 11}));
}

TEST(Reorder, halo_like_falls_by_how_near_sampled_sources_are) {
  for (const BothWays& both : all_sample_graphs()) {
    if (both.graph.edges() == 0) {
      continue;
    }
    std::vector<double> scores(both.graph.vertices());
    for (const Vertex source : gap_sources(both.graph, 3)) {
      const auto depths = serial_bfs(both.graph, source);
      for (Vertex v = 0; v < both.graph.vertices(); ++v) {
        scores[v] += depths[v] == kUnreached ? 0 : 1.0 / (1.0 + depths[v]);
      }
    }
    EXPECT_EQ(order_of(both.graph, Order::halo_like, 3), highest_first(scores)) << both.graph.name;
  }
}

TEST(Reorder, does_not_depend_on_the_number_of_threads) {
  const Csr graph = weighted_graph(50000, random_edges(50000, 200000, 4, true), false);
  for (const Order order : {Order::degree, Order::halo_like}) {
    const Threads one(1);
    const std::vector<Vertex> expected = order_of(graph, order);
    for (const int threads : {2, 5}) {
      const Threads more(threads);
      EXPECT_EQ(order_of(graph, order), expected) << name(order) << " " << threads;
    }
  }
}

TEST(Reorder, a_graph_without_edges_has_nothing_to_sample) {
  EXPECT_EQ(order_of(weighted_graph(3, {}, false), Order::halo_like), (std::vector<Vertex>{0, 1, 2}));
  EXPECT_THROW((void)order_of(weighted_graph(3, {{0, 1, 1}}, false), Order::halo_like, 0), UsageError);
}

}  // namespace
}  // namespace grainscope::graph
