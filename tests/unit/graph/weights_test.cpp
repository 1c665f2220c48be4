#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "random_edges.hpp"

namespace grainscope::graph {
namespace {

Csr some_graph(bool symmetrise) {
  return build_csr(edge_list(30000, random_edges(30000, 200000, 4, false), false), {symmetrise});
}

TEST(DrawWeights, agree_in_both_directions_and_use_the_whole_range_evenly) {
  Csr graph = some_graph(true);
  draw_weights(graph, 8, 72, 1);
  check_csr(graph);
  std::map<Weight, std::uint64_t> counts;
  for (const Weight weight : graph.weights) {
    ++counts[weight];
  }
  EXPECT_EQ(counts.size(), 65);
  EXPECT_EQ(counts.begin()->first, 8);
  EXPECT_EQ(counts.rbegin()->first, 72);
  const double mean = static_cast<double>(graph.edges()) / 65;
  for (const auto& [weight, count] : counts) {
    EXPECT_NEAR(static_cast<double>(count), mean, 0.1 * mean) << weight;
  }
}

TEST(DrawWeights, depend_on_the_seed_alone) {
  Csr graph = some_graph(false);
  const auto drawn = [&](std::uint64_t seed) {
    draw_weights(graph, 1, 255, seed);
    return std::vector<Weight>(graph.weights.begin(), graph.weights.end());
  };
  const std::vector<Weight> one = drawn(1);
  EXPECT_NE(drawn(2), one);
  EXPECT_EQ(drawn(1), one);
}

TEST(DrawWeights, may_all_be_the_same) {
  Csr graph = some_graph(true);
  draw_weights(graph, 5, 5, 1);
  EXPECT_EQ(std::vector<Weight>(graph.weights.begin(), graph.weights.end()),
            std::vector<Weight>(graph.edges(), 5));
}

TEST(DrawWeights, refuses_an_empty_range) {
  Csr graph = some_graph(true);
  EXPECT_THROW(draw_weights(graph, 9, 8, 1), UsageError);
  EXPECT_FALSE(graph.weighted());
}

}  // namespace
}  // namespace grainscope::graph
