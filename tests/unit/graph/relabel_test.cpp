#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "random_edges.hpp"

namespace grainscope::graph {
namespace {

std::vector<Vertex> random_order(std::uint32_t vertices) {
  std::vector<Vertex> order(vertices);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(9));
  return order;
}

std::vector<Vertex> inverse(const std::vector<Vertex>& order) {
  std::vector<Vertex> result(order.size());
  for (std::size_t v = 0; v < order.size(); ++v) {
    result[order[v]] = static_cast<Vertex>(v);
  }
  return result;
}

// Graphs of every make: directed or not, weighted or not, small and large enough for threads.
std::vector<Csr> some_graphs() {
  std::vector<Csr> graphs;
  for (const std::uint32_t vertices : {1U, 2U, 50U, 40000U}) {
    for (const bool weighted : {false, true}) {
      for (const bool symmetrise : {false, true}) {
        const auto edges = random_edges(vertices, vertices * std::size_t{8}, vertices, true);
        graphs.push_back(build_csr(edge_list(vertices, edges, weighted), {symmetrise}));
        graphs.back().name = "some";
      }
    }
  }
  return graphs;
}

TEST(Relabel, gives_vertex_v_the_edges_of_the_orders_entry) {
  for (const Csr& graph : some_graphs()) {
    const std::vector<Vertex> order = random_order(graph.vertices());
    const std::vector<Vertex> new_number = inverse(order);
    std::vector<Triple> expected = entries(graph);
    for (Triple& entry : expected) {
      entry = {new_number[entry[0]], new_number[entry[1]], entry[2]};
    }
    std::sort(expected.begin(), expected.end());
    const Csr relabelled = relabel(graph, order);
    check_csr(relabelled);
    EXPECT_EQ(entries(relabelled), expected);
    expect_same(relabel(relabelled, new_number), graph);
  }
}

TEST(Relabel, does_not_depend_on_the_number_of_threads) {
  const Csr graph = build_csr(edge_list(40000, random_edges(40000, 300000, 1, true), true), {});
  const std::vector<Vertex> order = random_order(40000);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Csr one = relabel(graph, order);
  omp_set_num_threads(3);
  expect_same(relabel(graph, order), one);
  omp_set_num_threads(before);
}

TEST(Relabel, refuses_an_order_that_is_no_permutation) {
  const Csr graph = build_csr(edge_list(3, {{0, 1, 1}, {1, 2, 1}}, false), {});
  const auto refused = [&](const std::vector<Vertex>& order, const std::string& why) {
    try {
      (void)relabel(graph, order);
      ADD_FAILURE() << why;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused({0, 1}, "3 vertices by an order of 2");
  refused({0, 1, 2, 3}, "3 vertices by an order of 4");
  refused({0, 2, 2}, "entry 2, 2, is repeated");
  refused({0, 3, 1}, "entry 1, 3, is no vertex");
}

TEST(Transpose, turns_every_edge_and_twice_is_nothing) {
  for (const Csr& graph : some_graphs()) {
    const Csr turned = transpose(graph);
    check_csr(turned);
    std::vector<Triple> expected = entries(graph);
    for (Triple& entry : expected) {
      std::swap(entry[0], entry[1]);
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(entries(turned), expected);
    EXPECT_EQ(turned.directed, graph.directed);
    expect_same(transpose(turned), graph);
  }
}

TEST(Transpose, of_an_undirected_graph_shares_nothing_with_it) {
  const Csr graph = build_csr(edge_list(2, {{0, 1, 1}}, true), {});
  const Csr turned = transpose(graph);
  turned.weights[0] = 9;
  EXPECT_EQ(graph.weights[0], 1);
}

}  // namespace
}  // namespace grainscope::graph
