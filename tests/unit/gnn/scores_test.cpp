// Scores of vertices, their rankings, what these hit, and graphs numbered by them.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/scores.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
namespace {

using graph::BothWays;
using graph::Threads;
using graph::Vertex;

std::vector<BothWays> graphs() {
  std::vector<BothWays> all = graph::all_sample_graphs();
  for (const char* const spec : {"kron:12", "web:12", "power"}) {
    all.emplace_back(graph::make_graph(graph::parse_graph_spec(spec), false));
  }
  return all;
}

void expect_close(const HostArray<float>& scores, const std::vector<double>& expected) {
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    ASSERT_NEAR(scores[v], expected[v], 1e-6 * expected[v]) << "vertex " << v;
  }
}

TEST(ReversePageRank, equals_the_push_over_in_edges) {
  for (const BothWays& both : graphs()) {
    SCOPED_TRACE(both.graph.name + (both.graph.directed ? ", directed" : ""));
    const PageRank rank = reverse_pagerank(both.graph, both.in_edges());
    expect_close(rank.scores, pushed_reverse_pagerank(both.in_edges(), {}, rank.iterations));
  }
}

// The oracle itself: the same additions in the same order, whoever makes them.
TEST(PushedReversePageRank, is_to_the_last_bit_that_of_one_thread) {
  for (const BothWays& both : graphs()) {
    const graph::Csr& in_edges = both.in_edges();
    SCOPED_TRACE(in_edges.name);
    std::vector<double> scores(in_edges.vertices(), 1.0 / in_edges.vertices());
    for (int iteration = 0; iteration < 3; ++iteration) {
      std::vector<double> next(scores.size(), (1 - kDamping) / in_edges.vertices());
      for (Vertex v = 0; v < in_edges.vertices(); ++v) {
        for (const Vertex source : in_edges.neighbours(v)) {
          next[source] += kDamping * scores[v] / static_cast<double>(in_edges.degree(v));
        }
      }
      scores = std::move(next);
    }
    for (const int threads : {1, 2, 7, 64}) {
      const Threads limited(threads);
      EXPECT_EQ(pushed_reverse_pagerank(in_edges, {}, 3), scores) << threads << " threads";
    }
  }
}

TEST(ReversePageRank, has_converged) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  const PageRank rank = reverse_pagerank(graph, graph);
  EXPECT_GT(rank.iterations, 3);
  EXPECT_LT(rank.iterations, kMostIterations);
  const std::vector<double> later = pushed_reverse_pagerank(graph, {}, rank.iterations + 20);
  double change = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    change += std::abs(later[v] - rank.scores[v]);
  }
  EXPECT_LT(change, kConverged / (1 - kDamping));
}

TEST(WeightedReversePageRank, equals_the_push_over_in_edges) {
  for (const BothWays& both : graphs()) {
    SCOPED_TRACE(both.graph.name + (both.graph.directed ? ", directed" : ""));
    std::vector<Vertex> labelled;
    for (Vertex v = 0; v < both.graph.vertices(); v += 7) {
      labelled.push_back(v);
    }
    const PageRank rank = weighted_reverse_pagerank(both.graph, both.in_edges(), labelled);
    EXPECT_EQ(rank.iterations, 5);
    expect_close(rank.scores, pushed_reverse_pagerank(both.in_edges(), labelled, 5));
  }
}

// By hand, on 0 → 1 → 2, 0 → 2, with vertex 2 labelled. In-degrees are 0, 1, 2; scores start at 1/3, 1/3, 1.
// After one iteration: vertex 1 pulls 1/2 of 2's, 0 pulls 1's whole and half of 2's, 2 pulls nothing.
TEST(WeightedReversePageRank, pulls_over_out_edges_and_divides_by_in_degrees) {
  const BothWays both(graph::weighted_graph(3, {{0, 1, 1}, {1, 2, 1}, {0, 2, 1}}, true));
  const std::vector<Vertex> labelled{2};
  const std::vector<double> once = pushed_reverse_pagerank(both.in_edges(), labelled, 1);
  const double base = 0.15 / 3;
  EXPECT_NEAR(once[0], base + 0.85 * (1.0 / 3 + 1.0 / 2), 1e-12);
  EXPECT_NEAR(once[1], base + 0.85 * (1.0 / 2), 1e-12);
  EXPECT_NEAR(once[2], base, 1e-12);
  const PageRank five = weighted_reverse_pagerank(both.graph, both.in_edges(), labelled);
  EXPECT_NEAR(five.scores[1], base + 0.85 * base / 2, 1e-8);
}

TEST(WeightedReversePageRank, needs_labels_that_exist) {
  const BothWays both(graph::weighted_graph(3, {{0, 1, 1}}, false));
  EXPECT_THROW(static_cast<void>(weighted_reverse_pagerank(both.graph, both.graph, {})), UsageError);
  EXPECT_THROW(static_cast<void>(weighted_reverse_pagerank(both.graph, both.graph, std::vector<Vertex>{3})),
               UsageError);
}

TEST(PageRanks, do_not_depend_on_the_number_of_threads) {
  const graph::Csr graph = graph::make_graph(graph::parse_graph_spec("kron:15"), false);
  const PageRank rank = reverse_pagerank(graph, graph);
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const PageRank again = reverse_pagerank(graph, graph);
    EXPECT_EQ(again.iterations, rank.iterations);
    EXPECT_TRUE(std::equal(again.scores.begin(), again.scores.end(), rank.scores.begin()));
  }
}

TEST(DegreeScores, are_out_degrees) {
  const BothWays both(graph::weighted_graph(3, {{0, 1, 1}, {0, 2, 1}}, true));
  const auto scores = degree_scores(both.graph);
  EXPECT_EQ(std::vector(scores.begin(), scores.end()), (std::vector<std::uint32_t>{2, 0, 0}));
}

TEST(AccessCounts, count_every_row_of_every_batch) {
  Trace trace;
  trace.add(std::vector<std::uint32_t>{4, 1});
  trace.add(std::vector<std::uint32_t>{1, 0});
  const auto counts = access_counts(trace, 6);
  EXPECT_EQ(std::vector(counts.begin(), counts.end()), (std::vector<std::uint32_t>{1, 2, 0, 0, 1, 0}));
  EXPECT_THROW(static_cast<void>(access_counts(trace, 4)), UsageError);
}

// The oracle of a ranking: a stable sort.
template <class T>
std::vector<Vertex> sorted_by(std::span<const T> scores, std::vector<Vertex> order) {
  std::stable_sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return scores[a] > scores[b]; });
  return order;
}

TEST(Ranking, equals_a_stable_sort) {
  for (const std::size_t size : {0, 1, 2, 1000, 300000}) {
    std::vector<std::uint32_t> few(size);
    std::vector<std::uint32_t> all(size);
    std::vector<float> real(size);
    std::vector<Vertex> numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0U);
    for (std::size_t i = 0; i < size; ++i) {
      all[i] = static_cast<std::uint32_t>(i * 2654435761U);
      few[i] = all[i] >> 28;
      real[i] = static_cast<float>(all[i] % 1000) * 1e-9F;
    }
    for (const int count : {1, 3}) {
      const Threads threads(count);
      EXPECT_EQ(ranking(all), sorted_by<std::uint32_t>(all, numbers));
      EXPECT_EQ(ranking(few), sorted_by<std::uint32_t>(few, numbers));
      EXPECT_EQ(ranking(real), sorted_by<float>(real, numbers));
      EXPECT_EQ(ranking(few, ranking(all)), sorted_by<std::uint32_t>(few, ranking(all)));
    }
  }
  EXPECT_THROW(static_cast<void>(ranking(std::vector<std::uint32_t>{1, 2}, std::vector<Vertex>{0})),
               UsageError);
}

}  // namespace
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

TEST(HitRates, are_shares_of_accesses) {
  const std::vector<std::uint32_t> counts{0, 6, 1, 3};
  const std::vector<double> shares{0, 0.25, 0.5, 1};
  EXPECT_EQ(hit_rates(counts, ranking(counts), shares), (std::vector{0.0, 0.6, 0.9, 1.0}));
  EXPECT_EQ(hit_rates(counts, std::vector<Vertex>{0, 2, 3, 1}, shares), (std::vector{0.0, 0.0, 0.1, 1.0}));
  EXPECT_EQ(hit_rates(std::vector<std::uint32_t>(4), std::vector<Vertex>{0, 1, 2, 3}, shares),
            (std::vector{0.0, 0.0, 0.0, 0.0}));
}

TEST(HitRates, take_the_nearest_whole_number_of_rows) {
  const std::vector<std::uint32_t> counts{8, 4, 3, 1};
  EXPECT_EQ(hit_rates(counts, ranking(counts), std::vector{0.3, 0.4, 0.6}), (std::vector{0.5, 0.75, 0.75}));
}

TEST(HitRates, of_what_does_not_fit_together_are_refused) {
  const std::vector<std::uint32_t> counts{1, 1};
  EXPECT_THROW(static_cast<void>(hit_rates(counts, std::vector<Vertex>{0}, std::vector{0.5})), UsageError);
  EXPECT_THROW(static_cast<void>(hit_rates(counts, std::vector<Vertex>{0, 1}, std::vector{1.5})), UsageError);
}

TEST(HitRates, no_ranking_beats_the_one_after_the_fact) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:13"), false);
  const auto labelled = labelled_vertices(graph.vertices(), 10, 1);
  RunRequest request{{{5, 5}, 1}, 100, 0, 1, 0};
  const auto presampled = access_counts(sampled_trace(graph, labelled, request), graph.vertices());
  request.first_epoch = 1;
  const auto counts = access_counts(sampled_trace(graph, labelled, request), graph.vertices());
  const std::vector<double> shares{0.01, 0.1, 0.25, 0.5};
  const auto best = hit_rates(counts.span(), ranking(counts.span()), shares);
  const auto by_degree = ranking(degree_scores(graph).span());
  for (const auto& order : {by_degree, ranking(presampled.span(), by_degree),
                            ranking(reverse_pagerank(graph, graph).scores.span()),
                            ranking(weighted_reverse_pagerank(graph, graph, labelled).scores.span())}) {
    const auto rates = hit_rates(counts.span(), order, shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_LE(rates[i], best[i]);
      EXPECT_GT(rates[i], 0.85 * best[i]);
      EXPECT_GT(rates[i], 1.5 * shares[i]);
    }
  }
}

TEST(OldToNew, is_the_inverse_of_a_ranking) {
  EXPECT_EQ(old_to_new(std::vector<Vertex>{2, 0, 3, 1}), (std::vector<Vertex>{1, 3, 0, 2}));
  EXPECT_THROW(static_cast<void>(old_to_new(std::vector<Vertex>{0, 0})), UsageError);
  EXPECT_THROW(static_cast<void>(old_to_new(std::vector<Vertex>{0, 2})), UsageError);
}

// Any bijection that leaves little where it was.
std::vector<Vertex> shuffled(Vertex vertices) {
  const Permutation places(std::max<Vertex>(vertices, 1), 5);
  std::vector<Vertex> map(vertices);
  for (Vertex v = 0; v < vertices; ++v) {
    map[v] = static_cast<Vertex>(places(v));
  }
  return map;
}

TEST(Reorder, gives_each_list_its_new_place_and_numbers) {
  std::vector<BothWays> graphs = graph::all_sample_graphs();
  graphs.emplace_back(graph::make_graph(graph::parse_graph_spec("kron:14"), true));
  for (const BothWays& both : graphs) {
    const Csr& old = both.graph;
    SCOPED_TRACE(old.name);
    const std::vector<Vertex> map = shuffled(old.vertices());
    const Csr fresh = reorder(old, map);
    EXPECT_EQ(fresh.directed, old.directed);
    EXPECT_NO_THROW(certify_reordered(old, map, fresh, false));
    for (Vertex v = 0; v < old.vertices(); ++v) {
      ASSERT_EQ(fresh.degree(map[v]), old.degree(v));
      for (std::uint64_t i = 0; i < old.degree(v); ++i) {
        ASSERT_EQ(fresh.neighbours(map[v])[i], map[old.neighbours(v)[i]]);
        if (old.weighted()) {
          ASSERT_EQ(fresh.weights_of(map[v])[i], old.weights_of(v)[i]);
        }
      }
    }
  }
}

TEST(Reorder, sorted_is_what_relabelling_gives) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("web:12"), false);
  const std::vector<Vertex> map = shuffled(graph.vertices());
  const Csr relabelled = graph::relabel(graph, old_to_new(map));  // the inverse of the inverse
  EXPECT_NO_THROW(certify_reordered(graph, map, relabelled, true));
  EXPECT_THROW(certify_reordered(graph, map, reorder(graph, map), true), FailedError);
}

TEST(Reorder, by_something_else_than_a_permutation_is_refused) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("power"), false);
  std::vector<Vertex> map = shuffled(graph.vertices());
  map[3] = map[4];
  EXPECT_THROW(static_cast<void>(reorder(graph, map)), UsageError);
  map[3] = graph.vertices();
  EXPECT_THROW(static_cast<void>(reorder(graph, map)), UsageError);
  map.pop_back();
  EXPECT_THROW(static_cast<void>(reorder(graph, map)), UsageError);
}

TEST(CertifyReordered, finds_what_was_changed) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("power"), false);
  const std::vector<Vertex> map = shuffled(graph.vertices());
  const auto refused = [&](const std::function<void(Csr&)>& change) {
    Csr wrong = reorder(graph, map);
    change(wrong);
    return graph::refuses([&] { return certify_reordered(graph, map, wrong, false); });
  };
  EXPECT_FALSE(refused([](Csr&) {}));
  EXPECT_TRUE(refused([](Csr& csr) { csr.targets[100] ^= 1U; }));
  EXPECT_TRUE(refused([](Csr& csr) { ++csr.offsets[50]; }));
  EXPECT_TRUE(refused([](Csr& csr) { csr.offsets[50] = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused([](Csr& csr) { csr = graph::make_graph(graph::parse_graph_spec("pgp"), false); }));
}

}  // namespace
}  // namespace grainscope::gnn
