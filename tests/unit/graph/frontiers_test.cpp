// Frontiers, level by level, against slow serial ones, and answers recomputed from them against the oracles.

#include "grainscope/graph/frontiers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sample_graphs.hpp"

namespace grainscope::graph {
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
