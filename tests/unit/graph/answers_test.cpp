// The serial oracles against brute force on small graphs and against GAP's own answers on its graphs;
// frontiers against the oracles.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "../../testing/golden.hpp"
#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "grainscope/graph/answers.hpp"

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
  EXPECT_EQ(reached_by({}, {}).entries, 0);
}

void expect_paths(const Csr& graph, const nlohmann::json& expected) {
  const Vertex source = expected.at("source");
  const std::vector<std::uint32_t> depths = serial_bfs(graph, source);
  const Summary bfs = summary_of(depths);
  EXPECT_EQ(bfs.reached, expected.at("reached"));
  EXPECT_EQ(bfs.sum, expected.at("sum_depth"));
  EXPECT_EQ(bfs.most, expected.at("max_depth"));
  const auto reached = reached_by(graph, depths);
  EXPECT_EQ(reached.vertices, expected.at("reached"));
  EXPECT_EQ(reached.entries, expected.at("adjacency_entries_reached"));
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

// Frontiers, level by level, against slow serial ones, and answers recomputed from them against the oracles.
namespace {

using Levels = std::vector<std::vector<Vertex>>;

Levels levels_of(const Csr& graph, Algorithm algorithm, Vertex source = 0) {
  Levels levels;
  run_levels(graph, algorithm, source,
             [&](std::span<const Vertex> active) { levels.emplace_back(active.begin(), active.end()); });
  return levels;
}

// Values that fall along edges until none does: sssp with a source, cc without. Leaves the last values.
template <class Offer>
Levels falling_levels(const Csr& graph, std::vector<std::uint32_t>& values, std::vector<Vertex> active,
                      const Offer& offer) {
  Levels levels;
  while (!active.empty()) {
    levels.push_back(active);
    std::vector<std::uint32_t> next = values;
    for (const Vertex v : active) {
      for (std::size_t i = 0; i < graph.degree(v); ++i) {
        const Vertex u = graph.neighbours(v)[i];
        next[u] = std::min(next[u], offer(values[v], graph.weights_of(v)[i]));
      }
    }
    active.clear();
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      if (next[v] < values[v]) {
        active.push_back(v);
      }
    }
    values = next;
  }
  return levels;
}

TEST(Frontiers, a_level_of_bfs_holds_its_depth) {
  for (const BothWays& both : all_sample_graphs()) {
    std::vector<std::uint32_t> depths(both.graph.vertices(), kUnreached);
    const Vertex source = both.graph.vertices() / 2;
    std::uint32_t depth = 0;
    for (const std::vector<Vertex>& active : levels_of(both.graph, Algorithm::bfs, source)) {
      EXPECT_FALSE(active.empty());
      EXPECT_TRUE(std::is_sorted(active.begin(), active.end()));
      for (const Vertex v : active) {
        EXPECT_EQ(depths[v], kUnreached) << both.graph.name << ": " << v << " twice";
        depths[v] = depth;
      }
      ++depth;
    }
    EXPECT_EQ(depths, serial_bfs(both.graph, source)) << both.graph.name;
  }
}

TEST(Frontiers, a_level_of_sssp_holds_whose_distance_fell_in_the_one_before) {
  for (const BothWays& both : all_sample_graphs()) {
    std::vector<std::uint32_t> distances(both.graph.vertices(), kUnreached);
    const Vertex source = both.graph.vertices() / 2;
    distances[source] = 0;
    const Levels expected = falling_levels(both.graph, distances, {source},
                                           [](std::uint32_t value, Weight weight) { return value + weight; });
    EXPECT_EQ(levels_of(both.graph, Algorithm::sssp, source), expected) << both.graph.name;
    EXPECT_EQ(distances, serial_sssp(both.graph, source)) << both.graph.name;
  }
}

TEST(Frontiers, a_level_of_cc_holds_whose_label_fell_in_the_one_before) {
  for (const BothWays& both : sample_graphs(false)) {
    std::vector<Vertex> labels(both.graph.vertices());
    std::iota(labels.begin(), labels.end(), Vertex{0});
    const Levels expected =
        falling_levels(both.graph, labels, labels, [](std::uint32_t value, Weight) { return value; });
    EXPECT_EQ(levels_of(both.graph, Algorithm::cc), expected) << both.graph.name;
    EXPECT_EQ(labels, serial_cc(both.graph)) << both.graph.name;
  }
}

// Ranks and residuals as the levels leave them, by the serial rule.
struct Pushed {
  std::vector<double> ranks;
  std::vector<double> residuals;

  explicit Pushed(Vertex vertices) : ranks(vertices), residuals(vertices, 0.15 / vertices) {}
  void push(const Csr& graph, const std::vector<Vertex>& active) {
    std::vector<double> next = residuals;
    for (const Vertex v : active) {
      ranks[v] += residuals[v];
      next[v] -= residuals[v];
      for (const Vertex u : graph.neighbours(v)) {
        next[u] += 0.85 * residuals[v] / static_cast<double>(graph.degree(v));
      }
    }
    residuals = next;
  }
  [[nodiscard]] double left() const { return std::accumulate(residuals.begin(), residuals.end(), 0.0); }
};

TEST(Frontiers, a_level_of_pr_holds_residuals_above_the_threshold) {
  for (const BothWays& both : all_sample_graphs()) {
    SCOPED_TRACE(both.graph.name);
    const double threshold = kRankTolerance / 2 / both.graph.vertices();
    Pushed pushed(both.graph.vertices());
    for (const std::vector<Vertex>& active : levels_of(both.graph, Algorithm::pr)) {
      EXPECT_GE(pushed.left(), kRankTolerance * (1 - 1e-9));
      std::vector<bool> is_active(both.graph.vertices());
      for (const Vertex v : active) {
        is_active[v] = true;
      }
      for (Vertex v = 0; v < both.graph.vertices(); ++v) {
        const double margin = is_active[v] ? 1 - 1e-9 : 1 + 1e-9;  // sums in another order
        ASSERT_EQ(pushed.residuals[v] > threshold * margin, is_active[v]) << v;
      }
      pushed.push(both.graph, active);
    }
    EXPECT_LT(pushed.left(), kRankTolerance * (1 + 1e-9));
    const std::vector<float> ranks(pushed.ranks.begin(), pushed.ranks.end());
    EXPECT_NO_THROW((void)certify_pr(both.graph, both.in_edges(), ranks));
  }
}

TEST(Frontiers, are_the_same_for_any_number_of_threads) {
  const BothWays both(weighted_graph(20000, random_edges(20000, 150000, 9, true), false));
  for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr}) {
    const Threads one(1);
    const Levels expected = levels_of(both.graph, algorithm, 7);
    EXPECT_GT(expected.size(), 2U);
    for (const int threads : {2, 5}) {
      const Threads more(threads);
      EXPECT_EQ(levels_of(both.graph, algorithm, 7), expected) << name(algorithm) << " " << threads;
    }
  }
}

TEST(Frontiers, follow_edges_without_length) {
  const Csr graph = weighted_graph(5, {{0, 1, 0}, {1, 2, 0}, {0, 2, 3}, {2, 3, 2}}, false);
  EXPECT_EQ(levels_of(graph, Algorithm::sssp, 0), (Levels{{0}, {1, 2}, {2, 3}, {3}}));
}

TEST(Frontiers, of_nothing_are_none) {
  EXPECT_TRUE(levels_of({}, Algorithm::cc).empty());
  EXPECT_TRUE(levels_of({}, Algorithm::pr).empty());
  const Csr lonely = weighted_graph(3, {}, false);
  EXPECT_EQ(levels_of(lonely, Algorithm::bfs, 1), (Levels{{1}}));
  EXPECT_EQ(levels_of(lonely, Algorithm::sssp, 1), (Levels{{1}}));
  EXPECT_EQ(levels_of(lonely, Algorithm::cc), (Levels{{0, 1, 2}}));
  EXPECT_EQ(levels_of(lonely, Algorithm::pr), (Levels{{0, 1, 2}}));
}

TEST(Frontiers, say_what_has_no_answer) {
  const Csr directed = weighted_graph(3, {{0, 1, 1}}, true);
  EXPECT_THROW(levels_of(directed, Algorithm::cc), UsageError);
  EXPECT_THROW(levels_of(directed, Algorithm::bfs, 3), UsageError);
  EXPECT_THROW(levels_of(directed, Algorithm::sssp, 3), UsageError);
  EXPECT_THROW(levels_of(build_csr(edge_list(3, {{0, 1, 1}}, false), {}), Algorithm::sssp), UsageError);
  const Weight far = 0x80000000U;
  EXPECT_THROW(levels_of(weighted_graph(3, {{0, 1, far}, {1, 2, far}}, false), Algorithm::sssp), UsageError);
  // The long way round does not matter where there is a short one.
  EXPECT_NO_THROW(
      levels_of(weighted_graph(3, {{0, 1, far}, {1, 2, far}, {0, 2, 1}}, false), Algorithm::sssp));
}

}  // namespace
}  // namespace grainscope::graph
