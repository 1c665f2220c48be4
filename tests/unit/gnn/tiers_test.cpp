#include "grainscope/gnn/scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/graph/generate.hpp"

namespace grainscope::gnn {
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
