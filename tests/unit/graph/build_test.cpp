#include "grainscope/graph/build.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "random_edges.hpp"

namespace grainscope::graph {
namespace {

void expect_built(std::uint32_t vertices, const std::vector<Triple>& edges) {
  for (const bool symmetrise : {true, false}) {
    for (const bool weighted : {true, false}) {
      SCOPED_TRACE(testing::Message() << vertices << " vertices, " << edges.size() << " edges, symmetrise "
                                      << symmetrise << ", weighted " << weighted);
      const Csr graph = build_csr(edge_list(vertices, edges, weighted), {symmetrise});
      EXPECT_EQ(graph.directed, !symmetrise);
      ASSERT_EQ(graph.vertices(), vertices);
      ASSERT_EQ(entries(graph), expected_entries(edges, symmetrise, weighted));
      EXPECT_EQ(graph.weighted(), weighted && graph.edges() > 0);
      check_csr(graph);
    }
  }
}

TEST(Build, equals_a_naive_builder_on_random_lists) {
  std::uint32_t seed = 1;
  for (const std::uint32_t vertices : {1U, 2U, 3U, 7U, 64U, 1000U, 5000U, 70000U}) {
    for (const std::size_t edges : {0U, 1U, 10U, 1000U, 8000U}) {
      expect_built(vertices, random_edges(vertices, edges, seed++, false));
      expect_built(vertices, random_edges(vertices, edges, seed++, true));
    }
  }
}

TEST(Build, no_vertex_and_no_edge_make_an_empty_graph) {
  const Csr graph = build_csr({}, {});
  EXPECT_EQ(graph.vertices(), 0);
  EXPECT_EQ(graph.edges(), 0);
  check_csr(graph);
}

TEST(Build, drops_self_loops_when_there_is_nothing_else) {
  expect_built(4, {{1, 1, 5}, {3, 3, 1}, {1, 1, 2}});
}

TEST(Build, keeps_the_lowest_weight_of_repeats_in_both_directions) {
  const Csr graph = build_csr(edge_list(3, {{0, 2, 9}, {2, 0, 4}, {0, 2, 6}, {1, 2, 7}}, true), {});
  EXPECT_EQ(entries(graph), (std::vector<Triple>{{0, 2, 4}, {1, 2, 7}, {2, 0, 4}, {2, 1, 7}}));
}

TEST(Build, keeps_the_largest_weights) {
  expect_built(3, {{0, 2, UINT32_MAX}, {0, 2, UINT32_MAX}, {1, 2, UINT32_MAX - 1}, {2, 1, UINT32_MAX}});
}

TEST(Build, refuses_an_end_that_is_no_vertex) {
  for (const Triple edge : {Triple{4, 1, 1}, Triple{1, 4, 1}, Triple{UINT32_MAX, 0, 1}}) {
    try {
      (void)build_csr(edge_list(4, {{0, 1, 1}, edge, {2, 3, 1}}, false), {});
      FAIL() << "accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("edge 1"), std::string::npos) << error.what();
    }
  }
}

TEST(Build, many_vertices_and_few_edges_make_mostly_empty_lists) {
  constexpr std::uint32_t kVertices = 5000000;
  const std::vector<Triple> edges{{kVertices - 1, 0, 3}, {1 << 20, (1 << 20) - 1, 2}, {0, 1 << 21, 1}};
  const Csr graph = build_csr(edge_list(kVertices, edges, true), {});
  EXPECT_EQ(graph.vertices(), kVertices);
  EXPECT_EQ(entries(graph), expected_entries(edges, true, true));
}

TEST(Build, does_not_depend_on_the_number_of_threads) {
  const auto edges = random_edges(40000, 300000, 5, true);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Csr one = build_csr(edge_list(40000, edges, true), {});
  for (const int threads : {2, 7}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(entries(build_csr(edge_list(40000, edges, true), {})), entries(one)) << threads;
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace grainscope::graph
