// Building, checking, relabelling, turning round and weighting of graphs.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "../../testing/oracles.hpp"
#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"

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

// Degrees of 1, 2, 3, … and back, so that equal edges are not equal vertices.
Csr sloped(Vertex vertices) {
  Csr graph;
  graph.directed = true;
  graph.offsets = HostArray<Edge>(vertices + std::uint64_t{1});
  graph.offsets[0] = 0;
  for (Vertex v = 0; v < vertices; ++v) {
    graph.offsets[v + std::uint64_t{1}] = graph.offsets[v] + v % 97;
  }
  graph.targets = HostArray<Vertex>(graph.offsets[vertices]);
  return graph;
}

TEST(Division, covers_every_vertex_once_in_whole_words) {
  for (const Vertex vertices : {0U, 1U, 31U, 32U, 33U, 1000U, 4096U, 10'007U}) {
    const Csr graph = sloped(vertices);
    for (const Division division : kDivisions) {
      for (const int parts : {1, 2, 3, 7, 16}) {
        Vertex next = 0;
        for (int part = 0; part < parts; ++part) {
          const VertexRange range = range_of_part(graph, division, part, parts);
          EXPECT_EQ(range.first, next) << vertices << " vertices, part " << part << " of " << parts;
          EXPECT_LE(range.first, range.last);
          EXPECT_TRUE(range.first % 32 == 0 || range.first == vertices);
          next = range.last;
        }
        EXPECT_EQ(next, vertices);
      }
    }
  }
}

TEST(Division, makes_alike_what_it_says) {
  Csr graph = sloped(40'000);
  // A hub at the end: equal edges are far from equal vertices.
  graph.offsets[40'000] += graph.edges();
  graph.targets = HostArray<Vertex>(graph.offsets[40'000]);
  const VertexRange by_vertices = range_of_part(graph, Division::vertices, 0, 2);
  EXPECT_NEAR(by_vertices.last, 20'000, 32);
  const VertexRange by_edges = range_of_part(graph, Division::edges, 0, 4);
  EXPECT_NEAR(static_cast<double>(graph.offsets[by_edges.last]), static_cast<double>(graph.edges()) / 4,
              97 * 32);
  EXPECT_GT(by_edges.last, 15'000U);
}

TEST(Division, refuses_parts_that_there_are_not) {
  const Csr graph = sloped(100);
  EXPECT_THROW(static_cast<void>(range_of_part(graph, Division::edges, 2, 2)), UsageError);
  EXPECT_THROW(static_cast<void>(range_of_part(graph, Division::edges, -1, 2)), UsageError);
  EXPECT_THROW(static_cast<void>(range_of_part(graph, Division::edges, 0, 0)), UsageError);
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

// An index that is none stands for itself, as what is not reached does.
TEST(Relabel, looks_values_up_by_many_threads) {
  constexpr std::uint32_t kCount = 100000;
  const std::vector<Vertex> order = random_order(kCount);
  std::vector<std::uint32_t> indices = order;
  indices[7] = kUnreached;
  indices[8] = kCount;
  const std::vector<std::uint32_t> values = looked_up(inverse(order), indices);
  ASSERT_EQ(values.size(), kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(values[i], i == 7 ? kUnreached : i == 8 ? kCount : i);
  }
  EXPECT_TRUE(looked_up({}, {}).empty());
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

// The slow way: sorted by degree, then twice by degree and whose neighbour comes first in the order before.
std::vector<Vertex> hubs_first(const Csr& graph) {
  std::vector<Vertex> order = order_of(graph, Order::original);
  std::vector<Vertex> first(graph.vertices());
  for (int round = 0; round < 3; ++round) {
    std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) {
      return std::tuple(graph.degree(b), first[a], a) < std::tuple(graph.degree(a), first[b], b);
    });
    std::map<Vertex, Vertex> places;
    for (Vertex place = 0; place < graph.vertices(); ++place) {
      places[order[place]] = place;
    }
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      first[v] = graph.vertices();
      for (const Vertex neighbour : graph.neighbours(v)) {
        first[v] = std::min(first[v], places[neighbour]);
      }
    }
  }
  return order;
}

TEST(Reorder, degree_falls_and_vertices_of_one_go_by_their_first_neighbours) {
  for (const BothWays& both : all_sample_graphs()) {
    EXPECT_EQ(order_of(both.graph, Order::degree), hubs_first(both.graph)) << both.graph.name;
  }
  // Leaves of three hubs, in turn: 3, 6, 9 of vertex 0, 4, 7, 10 of vertex 1, 5, 8, 11 of vertex 2.
  std::vector<Triple> edges;
  for (Vertex leaf = 3; leaf < 12; ++leaf) {
    edges.push_back({leaf % 3, leaf, 1});
  }
  EXPECT_EQ(order_of(weighted_graph(12, edges, false), Order::degree),
            (std::vector<Vertex>{0, 1, 2, 3, 6, 9, 4, 7, 10, 5, 8, 11}));
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
