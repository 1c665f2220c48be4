// Traversals by compaction against serial oracles, and nothing lost on the way.

#include "grainscope/graph/traversal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "traversal_fixture.hpp"

namespace grainscope::graph {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr};
// From buffers of a few hundred edges to such that hold any of these graphs; 0: a quarter of the edges.
constexpr std::uint64_t kCaps[] = {4 * kKiB, 64 * kKiB, 0, kGiB};

using Ends = std::vector<std::pair<Vertex, Vertex>>;

Csr graph_of(const std::string& name, Vertex vertices, const Ends& edges) {
  EdgeList list{vertices, HostArray<Vertex>(edges.size()), HostArray<Vertex>(edges.size()),
                HostArray<Weight>(edges.size())};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    list.from[i] = edges[i].first;
    list.to[i] = edges[i].second;
    list.weights[i] = static_cast<Weight>(1 + i * 7 % 31);
  }
  Csr graph = build_csr(std::move(list), {});
  graph.name = name;
  return graph;
}

Csr path(Vertex vertices) {
  Ends edges;
  for (Vertex v = 1; v < vertices; ++v) {
    edges.emplace_back(v - 1, v);
  }
  return graph_of("path", vertices, edges);
}

// The hub's list is longer than small buffers are.
Csr hub_to_all(Vertex leaves) {
  Ends edges;
  for (Vertex v = 0; v < leaves; ++v) {
    edges.emplace_back(leaves / 2, v < leaves / 2 ? v : v + 1);
  }
  return graph_of("star", leaves + 1, edges);
}

// Two triangles, an edge, and vertices without any.
Csr disconnected() {
  return graph_of("disconnected", 200,
                  {{0, 1}, {1, 2}, {0, 2}, {64, 65}, {100, 130}, {130, 199}, {100, 199}});
}

Csr made(const std::string& spec) {
  return make_graph(parse_graph_spec(spec), true);
}

class Subway : public GpuTest {
 protected:
  // The answer of the traversal's last run is that of the serial oracle.
  static void expect_right(const Csr& graph, Algorithm algorithm, Vertex source, const Traversal& traversal) {
    switch (algorithm) {
      case Algorithm::bfs:
        EXPECT_EQ(traversal.answer(), serial_bfs(graph, source));
        return;
      case Algorithm::sssp:
        EXPECT_EQ(traversal.answer(), serial_sssp(graph, source));
        return;
      case Algorithm::cc:
        EXPECT_EQ(traversal.answer(), serial_cc(graph));
        return;
      case Algorithm::pr:
        expect_right_ranks(graph, traversal.ranks());
        return;
    }
  }

  static void expect_right_ranks(const Csr& graph, const std::vector<float>& ranks) {
    EXPECT_NO_THROW((void)certify_pr(graph, transpose(graph), ranks));
    const std::vector<double> serial = serial_pr(graph, 1e-9);
    double difference = 0;
    for (std::size_t v = 0; v < serial.size(); ++v) {
      difference += std::abs(serial[v] - static_cast<double>(ranks[v]));
    }
    EXPECT_LT(difference, kRankTolerance / (1 - kDamping));
  }

  // Every level's edges were copied, all of them and no other.
  static void expect_all_copied(const Traversal& traversal, std::uint64_t element_bytes) {
    const auto levels = traversal.levels();
    const auto parts = traversal.parts();
    ASSERT_EQ(levels.size(), parts.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(parts[i].edge_bytes, levels[i].edges * element_bytes);
      EXPECT_GE(parts[i].list_bytes, levels[i].active * 16);
      EXPECT_EQ(levels[i].link_bytes, parts[i].edge_bytes + parts[i].list_bytes);
      EXPECT_GE(parts[i].partitions, 1);
      EXPECT_GT(parts[i].gather_s, 0);
      EXPECT_GT(parts[i].copy_s, 0);
      EXPECT_GT(parts[i].walk_s, 0);
      EXPECT_GT(levels[i].seconds, 0);
    }
  }
};

class SubwayAnswers : public Subway, public testing::WithParamInterface<Algorithm> {
 protected:
  // By edges of both sizes, through buffers of every size.
  static void expect_oracle(const Csr& graph, const std::vector<Vertex>& sources) {
    const Algorithm algorithm = GetParam();
    if (algorithm == Algorithm::cc && graph.directed) {
      GTEST_SKIP() << "components of directed graphs are not what a traversal finds";
    }
    for (const int edge_bytes : {4, 8}) {
      for (const std::uint64_t cap : kCaps) {
        SCOPED_TRACE(graph.name + ", " + std::to_string(edge_bytes) + "-byte edges, cap " +
                     format_bytes(cap));
        const bool weights = algorithm == Algorithm::sssp;
        const auto traversal = make_subway(graph, {edge_bytes, weights, 0, cap}, algorithm);
        for (const Vertex source : sources) {
          EXPECT_GT(run_anew(*traversal, source), 0);
          expect_right(graph, algorithm, source, *traversal);
          expect_all_copied(*traversal, static_cast<unsigned>(edge_bytes) + (weights ? 4U : 0U));
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, SubwayAnswers, testing::ValuesIn(kAlgorithms),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(SubwayAnswers, on_a_path_are_right) {
  expect_oracle(path(300), {0, 150});
}

TEST_P(SubwayAnswers, on_a_star_whose_hub_is_larger_than_the_cap_are_right) {
  expect_oracle(hub_to_all(50000), {25000, 3});
}

TEST_P(SubwayAnswers, on_a_disconnected_graph_are_right) {
  expect_oracle(disconnected(), {0, 64, 199, 50});
}

TEST_P(SubwayAnswers, on_kron_are_right) {
  const Csr graph = made("kron:12");
  expect_oracle(graph, gap_sources(graph, 2));
}

TEST_P(SubwayAnswers, on_urand_are_right) {
  const Csr graph = made("urand:12");
  expect_oracle(graph, gap_sources(graph, 2));
}

TEST_P(SubwayAnswers, on_a_directed_graph_are_right) {
  const Csr graph = made("web:10");
  expect_oracle(graph, gap_sources(graph, 2));
}

// Levels of several partitions, and lists that come to the host in several pieces.
TEST_F(Subway, answers_on_larger_graphs_are_right) {
  for (const char* spec : {"kron:16", "urand:19:2"}) {
    const Csr graph = made(spec);
    const Vertex source = gap_sources(graph, 1).front();
    for (const Algorithm algorithm : kAlgorithms) {
      SCOPED_TRACE(std::string(spec) + ", " + name(algorithm));
      const bool weights = algorithm == Algorithm::sssp;
      const auto traversal = make_subway(graph, {8, weights, 0, 0}, algorithm);
      EXPECT_GT(run_anew(*traversal, source), 0);
      expect_right(graph, algorithm, source, *traversal);
      expect_all_copied(*traversal, weights ? 12 : 8);
      const auto parts = traversal->parts();
      EXPECT_TRUE(std::ranges::any_of(parts, [](const SubwayLevel& part) { return part.partitions > 2; }));
    }
  }
}

TEST_F(Subway, walks_every_active_vertex_and_no_other) {
  const Csr graph = made("kron:12");
  const Vertex source = gap_sources(graph, 1).front();
  const std::vector<std::uint32_t> depths = serial_bfs(graph, source);
  const auto traversal = make_subway(graph, {8, false, 0, 4 * kKiB}, Algorithm::bfs);
  std::uint32_t depth = 0;
  std::vector<std::uint64_t> active_edges;
  traversal->follow(source, [&](std::span<const Vertex> active) {
    std::vector<Vertex> expected;
    std::uint64_t edges = 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      if (depths[v] == depth && graph.degree(v) > 0) {
        expected.push_back(v);
        edges += graph.degree(v);
      }
    }
    EXPECT_EQ(std::vector<Vertex>(active.begin(), active.end()), expected) << "level " << depth;
    active_edges.push_back(edges);
    ++depth;
  });
  const auto levels = traversal->levels();
  ASSERT_EQ(levels.size(), depth);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    EXPECT_EQ(levels[i].edges, active_edges[i]);
  }
}

// In every algorithm: what is told is what is counted, and an active vertex's list is gathered whole.
TEST_F(Subway, counts_the_lists_of_the_vertices_it_tells) {
  const Csr graph = made("kron:12");
  for (const Algorithm algorithm : kAlgorithms) {
    SCOPED_TRACE(name(algorithm));
    const bool weights = algorithm == Algorithm::sssp;
    const auto traversal = make_subway(graph, {4, weights, 0, 16 * kKiB}, algorithm);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    traversal->follow(gap_sources(graph, 1).front(), [&](std::span<const Vertex> active) {
      EXPECT_TRUE(std::ranges::is_sorted(active));
      told.emplace_back(active.size(),
                        std::accumulate(active.begin(), active.end(), std::uint64_t{0},
                                        [&](std::uint64_t sum, Vertex v) { return sum + graph.degree(v); }));
    });
    const auto levels = traversal->levels();
    ASSERT_EQ(levels.size(), told.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(levels[i].active, told[i].first);
      EXPECT_EQ(levels[i].edges, told[i].second);
    }
    expect_all_copied(*traversal, weights ? 8 : 4);
  }
}

TEST_F(Subway, refuses_what_cannot_be) {
  const Csr graph = disconnected();
  EXPECT_THROW((void)make_subway(graph, {8, false, 0, 100}, Algorithm::bfs), UsageError);
  EXPECT_THROW((void)make_subway(graph, {6, false, 0, 0}, Algorithm::bfs), UsageError);
  EXPECT_THROW((void)make_subway(graph, {8, false, 0, 0}, Algorithm::sssp), UsageError);
  const Csr bare = make_graph(parse_graph_spec("kron:8"), false);
  EXPECT_THROW((void)make_subway(bare, {8, true, 0, 0}, Algorithm::bfs), UsageError);
  const auto traversal = make_subway(graph, {8, false, 0, 0}, Algorithm::bfs);
  EXPECT_THROW((void)traversal->trace(0), UsageError);
  EXPECT_THROW((void)traversal->run(200), UsageError);
  EXPECT_THROW((void)traversal->ranks(), UsageError);
}

}  // namespace
}  // namespace grainscope::graph
