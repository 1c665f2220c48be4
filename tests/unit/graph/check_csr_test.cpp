#include <gtest/gtest.h>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "random_edges.hpp"

namespace grainscope::graph {
namespace {

// 0 – 1 – 2, 0 – 3, weights 1, 2, 3: lists {1, 3}, {0, 2}, {1}, {0}.
Csr path() {
  return build_csr(edge_list(4, {{0, 1, 1}, {1, 2, 2}, {3, 0, 3}}, true), {});
}

void expect_refused(const Csr& graph, const std::string& why) {
  try {
    check_csr(graph);
    FAIL() << "accepted, where " << why;
  } catch (const FailedError& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(CheckCsr, accepts_what_is_right) {
  check_csr(path());
  check_csr(Csr{});
  check_csr(build_csr(edge_list(5, {}, false), {}));
}

TEST(CheckCsr, finds_offsets_that_are_wrong) {
  Csr graph = path();
  graph.offsets[0] = 1;
  expect_refused(graph, "first offset is 1");
  graph = path();
  graph.offsets[1] = 5;
  expect_refused(graph, "behind vertex 1");
  graph = path();
  graph.offsets[4] = 7;
  expect_refused(graph, "the last offset is 7");
  graph = path();
  graph.offsets = {};
  expect_refused(graph, "no offsets");
}

TEST(CheckCsr, finds_lists_that_are_wrong) {
  Csr graph = path();
  graph.targets[1] = 4;
  expect_refused(graph, "vertex 0: neighbour 4 is no vertex");
  graph = path();
  graph.targets[3] = 1;
  expect_refused(graph, "vertex 1: it is its own neighbour");
  graph = path();
  graph.targets[1] = 1;
  expect_refused(graph, "vertex 0: neighbour 1 is repeated");
  graph = path();
  std::swap(graph.targets[0], graph.targets[1]);
  expect_refused(graph, "vertex 0: neighbour 1 stands behind 3");
}

TEST(CheckCsr, finds_weights_that_are_missing) {
  Csr graph = path();
  graph.weights = HostArray<Weight>(5);
  expect_refused(graph, "5 weights for 6 edges");
}

TEST(CheckCsr, finds_an_undirected_edge_that_is_there_one_way_only) {
  Csr graph = path();
  graph.targets[4] = 0;
  expect_refused(graph, "from 1 to 2 is not there the other way round");
  graph.directed = true;
  check_csr(graph);
}

TEST(CheckCsr, finds_weights_that_differ_by_direction) {
  Csr graph = path();
  graph.weights[5] = 7;
  expect_refused(graph, "from 0 to 3 has another weight");
  graph.directed = true;
  check_csr(graph);
}

TEST(CheckCsr, finds_the_first_fault_of_a_large_graph) {
  const Csr graph = build_csr(edge_list(90000, random_edges(90000, 400000, 6, false), false), {});
  for (const Vertex v : {Vertex{70001}, Vertex{345}}) {
    ASSERT_GT(graph.degree(v), 0);
    graph.targets[graph.offsets[v + 1] - 1] = 1000000;
    expect_refused(graph, "vertex " + std::to_string(v) + ": neighbour 1000000");
  }
}

}  // namespace
}  // namespace grainscope::graph
