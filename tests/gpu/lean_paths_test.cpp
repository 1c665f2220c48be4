#include <algorithm>
#include <random>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/run.hpp"
#include "lean_fixture.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Vertex;

class LeanPaths : public LeanTest {
 protected:
  static void expect_distances(const BothWays& both, const Lists& lists, Vertex source, std::uint32_t delta) {
    SCOPED_TRACE(testing::Message() << "delta " << delta);
    const auto placed = lists.place();
    const auto paths = make_lean_sssp(*placed, delta);
    const auto expected = graph::serial_sssp(both.graph, source);
    for (int run = 0; run < 3; ++run) {
      EXPECT_GT(paths->run(source), 0);
      ASSERT_EQ(paths->answer(), expected);
    }
    const std::vector<LinkReads> reads = paths->count(source);
    ASSERT_EQ(paths->answer(), expected);
    ASSERT_EQ(reads.size(), paths->levels().size());
    std::uint64_t read = 0;
    std::uint64_t listed = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      EXPECT_EQ(reads[i].elements + reads[i].hot, paths->levels()[i].edges) << "step " << i;
      read += reads[i].elements + reads[i].hot;
    }
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      listed += expected[v] != graph::kUnreached ? both.graph.degree(v) : 0;
    }
    EXPECT_GE(read, listed) << "every list that is reached is read";
  }
  static void expect_distances_over_all_lists(const BothWays& both, std::uint32_t delta, int percent = 20) {
    over_all_lists(both, TierPolicy::lists, percent, true,
                   [&](const Lists& lists) { expect_distances(both, lists, busiest(both.graph), delta); });
  }
};

TEST_F(LeanPaths, find_the_distances_of_dijkstra) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  for (const BothWays& each : graph::larger_graphs()) {
    graphs.push_back(each);
  }
  graphs.push_back(graph::star(100'000));
  for (const BothWays& both : graphs) {
    if (!both.graph.weighted()) {
      continue;
    }
    for (const std::uint32_t delta : {1U, usual_delta(both.graph), 100'000U}) {
      expect_distances_over_all_lists(both, delta);
    }
  }
}

TEST_F(LeanPaths, find_the_distances_where_every_list_is_hot) {
  const BothWays both = graph::larger_graphs().front();
  expect_distances_over_all_lists(both, usual_delta(both.graph), 100);
}

TEST_F(LeanPaths, read_weights_beside_neighbours_where_they_do_not_fit_into_them) {
  BothWays both = graph::larger_graphs().front();
  for (std::uint64_t i = 0; i < both.graph.edges(); ++i) {
    both.graph.weights[i] *= 1 << 20;
  }
  ASSERT_FALSE(packs_weights(both.graph));
  expect_distances_over_all_lists(both, usual_delta(both.graph));
}

TEST_F(LeanPaths, find_the_distances_over_runs_of_neighbours_and_far_ones) {
  // Gaps of one and now and then of hundreds: of an edge more is above the low bits than a warp looks at in a
  // turn. Lists of one neighbour, of a line and of several.
  std::vector<graph::Triple> edges;
  std::mt19937_64 random(7);
  constexpr Vertex kVertices = 40'000;
  for (Vertex v = 0; v < 300; ++v) {
    const std::uint64_t length = v == 0 ? 12'000 : 1 + random() % (1U << v % 10);
    std::uint64_t at = v == 0 ? 1 : random() % 400;
    for (std::uint64_t i = 0; i < length && at < kVertices; ++i) {
      if (at != v) {
        edges.push_back({v, static_cast<Vertex>(at), static_cast<graph::Weight>(8 + random() % 65)});
      }
      at += random() % 64 == 0 ? random() % 900 + 1 : 1;
    }
  }
  for (const graph::Weight most : {72U, 10U, 8U}) {
    for (graph::Triple& edge : edges) {
      edge[2] = std::min(edge[2], most);
    }
    const BothWays both(graph::weighted_graph(kVertices, edges, true));
    expect_distances_over_all_lists(both, usual_delta(both.graph));
  }
}

TEST_F(LeanPaths, refuse_lists_without_weights_and_others_those_with_them) {
  const BothWays both = graph::star(10);
  const auto plain = Lists(both).place();
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*plain, 1)), UsageError);
  const auto weighted = Lists(both).weighted().place();
  EXPECT_THROW(static_cast<void>(make_lean_sssp(*weighted, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_bfs(*weighted, {})), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_cc(*weighted)), UsageError);
  EXPECT_THROW(static_cast<void>(make_lean_pr(*weighted)), UsageError);
  LeanPlacement placement;
  placement.graph = &both.graph;
  const CompressedLists without = compress(both.graph, nullptr, false);
  placement.compressed = &without;
  placement.weights = true;
  EXPECT_THROW(static_cast<void>(place_lean(placement)), UsageError);
}

}  // namespace
}  // namespace grainscope::lean
