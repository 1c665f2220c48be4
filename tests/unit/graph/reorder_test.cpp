#include "grainscope/graph/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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

TEST(Reorder, degree_falls_and_ties_keep_their_order) {
  for (const BothWays& both : all_sample_graphs()) {
    std::vector<double> degrees;
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      degrees.push_back(static_cast<double>(both.graph.degree(v)));
    }
    EXPECT_EQ(order_of(both.graph, Order::degree), highest_first(degrees)) << both.graph.name;
  }
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
