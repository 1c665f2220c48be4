// The serial oracles against brute force on small graphs, and against GAP's own answers on its graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "golden.hpp"
#include "sample_graphs.hpp"

namespace grainscope::graph {
namespace {

constexpr Vertex kSmall = 100;  // brute force takes the cube of it

// Sum, count and maximum of what is reached.
struct Summary {
  std::uint64_t reached = 0;
  std::uint64_t sum = 0;
  std::uint32_t most = 0;
};
Summary summary_of(const std::vector<std::uint32_t>& values) {
  Summary summary;
  for (const std::uint32_t value : values) {
    if (value != kUnreached) {
      ++summary.reached;
      summary.sum += value;
      summary.most = std::max(summary.most, value);
    }
  }
  return summary;
}

TEST(Serial, bfs_and_sssp_equal_floyd_and_warshall) {
  for (const BothWays& both : all_sample_graphs()) {
    const Csr& graph = both.graph;
    if (graph.vertices() > kSmall) {
      continue;
    }
    const auto depths = all_pairs(graph, true);
    const auto distances = all_pairs(graph, false);
    for (Vertex source = 0; source < graph.vertices(); ++source) {
      ASSERT_EQ(serial_bfs(graph, source), depths[source]) << graph.name;
      ASSERT_EQ(serial_sssp(graph, source), distances[source]) << graph.name;
    }
  }
}

TEST(Serial, cc_labels_by_the_lowest_vertex_that_is_reached) {
  for (const BothWays& both : sample_graphs(false)) {
    const std::vector<Vertex> labels = serial_cc(both.graph);
    for (Vertex v = 0; v < both.graph.vertices() && both.graph.vertices() <= kSmall; ++v) {
      const auto depths = serial_bfs(both.graph, v);
      const auto lowest = std::find_if(depths.begin(), depths.end(), [](auto d) { return d != kUnreached; });
      ASSERT_EQ(labels[v], lowest - depths.begin()) << both.graph.name;
    }
  }
}

// A matrix of the equations that ranks solve, by Gauss's elimination.
std::vector<double> solved_ranks(const Csr& graph) {
  const std::size_t count = graph.vertices();
  std::vector<std::vector<double>> rows(count, std::vector<double>(count + 1));
  for (std::size_t v = 0; v < count; ++v) {
    rows[v][v] = 1;
    rows[v][count] = 0.15 / static_cast<double>(count);
  }
  for (const auto& [from, to, weight] : entries(graph)) {
    rows[to][from] -= 0.85 / static_cast<double>(graph.degree(from));
  }
  for (std::size_t i = 0; i < count; ++i) {  // diagonally dominant by columns: no pivots are needed
    for (std::size_t j = 0; j < count; ++j) {
      const double factor = j == i ? 0 : rows[j][i] / rows[i][i];
      for (std::size_t k = i; factor != 0 && k <= count; ++k) {
        rows[j][k] -= factor * rows[i][k];
      }
    }
  }
  std::vector<double> ranks(count);
  for (std::size_t v = 0; v < count; ++v) {
    ranks[v] = rows[v][count] / rows[v][v];
  }
  return ranks;
}

TEST(Serial, pr_solves_the_equations) {
  for (const BothWays& both : all_sample_graphs()) {
    if (both.graph.vertices() > kSmall) {
      continue;
    }
    const std::vector<double> expected = solved_ranks(both.graph);
    const std::vector<double> ranks = serial_pr(both.graph, 1e-13);
    for (std::size_t v = 0; v < expected.size(); ++v) {
      ASSERT_NEAR(ranks[v], expected[v], 1e-12) << both.graph.name << " " << v;
    }
  }
}

TEST(Serial, pr_refuses_a_tolerance_that_no_double_meets) {
  EXPECT_THROW((void)serial_pr(sample_graphs(false).back().graph, 0), UsageError);
}

TEST(Serial, says_what_it_cannot_answer) {
  const Csr graph = weighted_graph(3, {{0, 1, 1}}, true);
  EXPECT_THROW((void)serial_bfs(graph, 3), UsageError);
  EXPECT_THROW((void)serial_sssp(graph, 3), UsageError);
  EXPECT_THROW((void)serial_cc(graph), UsageError);
  EXPECT_THROW((void)count_components(graph), UsageError);
  EXPECT_THROW((void)serial_bfs(Csr{}, 0), UsageError);
  EXPECT_THROW((void)serial_sssp(build_csr(edge_list(3, {{0, 1, 1}}, false), {}), 0), UsageError);
}

TEST(Serial, sssp_refuses_distances_beyond_32_bits) {
  const Weight far = 0x80000000U;
  EXPECT_THROW((void)serial_sssp(weighted_graph(3, {{0, 1, far}, {1, 2, far}}, false), 0), UsageError);
  EXPECT_THROW((void)serial_sssp(weighted_graph(3, {{0, 1, far}, {1, 2, far - 1}}, false), 0), UsageError);
  const auto distances = serial_sssp(weighted_graph(3, {{0, 1, far}, {1, 2, far - 2}}, false), 0);
  EXPECT_EQ(distances[2], kUnreached - 1);
}

TEST(Serial, nothing_comes_of_no_graph) {
  EXPECT_TRUE(serial_cc({}).empty());
  EXPECT_TRUE(serial_pr({}).empty());
  EXPECT_EQ(count_components({}), 0);
  EXPECT_EQ(entries_reached({}, {}), 0);
}

void expect_paths(const Csr& graph, const nlohmann::json& expected) {
  const Vertex source = expected.at("source");
  const std::vector<std::uint32_t> depths = serial_bfs(graph, source);
  const Summary bfs = summary_of(depths);
  EXPECT_EQ(bfs.reached, expected.at("reached"));
  EXPECT_EQ(bfs.sum, expected.at("sum_depth"));
  EXPECT_EQ(bfs.most, expected.at("max_depth"));
  EXPECT_EQ(entries_reached(graph, depths), expected.at("adjacency_entries_reached"));
  const Summary sssp = summary_of(serial_sssp(graph, source));
  EXPECT_EQ(sssp.reached, expected.at("reached"));
  EXPECT_EQ(sssp.sum, expected.at("sum_distance"));
  EXPECT_EQ(sssp.most, expected.at("max_distance"));
}

TEST(Golden, paths_and_components_are_gaps) {
  for (const GoldenGraph& golden : golden_graphs(16)) {
    SCOPED_TRACE(golden.spec.name());
    const Csr graph = make_graph(golden.spec, true);
    for (const nlohmann::json& expected : golden.values.at("bfs_sssp")) {
      expect_paths(graph, expected);
    }
    std::map<Vertex, std::uint64_t> sizes;
    for (const Vertex label : serial_cc(graph)) {
      ++sizes[label];
    }
    std::uint64_t largest = 0;
    for (const auto& [label, size] : sizes) {
      largest = std::max(largest, size);
    }
    EXPECT_EQ(sizes.size(), golden.values.at("components"));
    EXPECT_EQ(count_components(graph), golden.values.at("components"));
    EXPECT_EQ(largest, golden.values.at("largest_component"));
  }
}

TEST(Golden, ranks_are_those_of_a_long_power_iteration) {
  for (const GoldenGraph& golden : golden_graphs(16)) {
    SCOPED_TRACE(golden.spec.name());
    const Csr graph = make_graph(golden.spec, false);
    const nlohmann::json& expected = golden.values.at("pagerank");
    const std::vector<double> ranks = serial_pr(graph, 1e-13);
    EXPECT_NEAR(std::accumulate(ranks.begin(), ranks.end(), 0.0), expected.at("sum"), 1e-11);
    std::vector<Vertex> order(graph.vertices());
    std::iota(order.begin(), order.end(), Vertex{0});
    std::partial_sort(order.begin(), order.begin() + 5, order.end(),
                      [&](Vertex a, Vertex b) { return ranks[a] > ranks[b]; });
    for (std::size_t i = 0; i < expected.at("top").size(); ++i) {
      const nlohmann::json& top = expected.at("top")[i];
      EXPECT_EQ(order[i], top[0]);
      EXPECT_NEAR(ranks[order[i]], top[1], 1e-13 + 1e-11 * static_cast<double>(top[1]));
    }
  }
}

}  // namespace
}  // namespace grainscope::graph
