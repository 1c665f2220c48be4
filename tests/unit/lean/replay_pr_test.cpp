#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/reorder.hpp"
#include "grainscope/model/lean_pr.hpp"

namespace grainscope::model {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

void expect_ranks(const BothWays& both, const lean::HotTier* tier, const lean::CompressedLists* packed) {
  const LeanPr pr = replay_pr({&both.in_edges(), tier, packed}, both.graph);
  EXPECT_NO_THROW(static_cast<void>(graph::certify_pr(both.graph, both.in_edges(), pr.ranks)))
      << both.graph.name << ", " << both.graph.vertices() << " vertices";
  EXPECT_EQ(pr.sweep.elements + pr.hot_reads, both.graph.edges());
}

TEST(LeanPrModel, finds_ranks_that_one_more_step_would_not_change) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const lean::HotTier tier = plan_tier(both.in_edges(), lean::TierPolicy::heads, both.graph.edges() / 3);
    const lean::CompressedLists packed = lean::compress(both.in_edges(), &tier, false);
    expect_ranks(both, nullptr, nullptr);
    expect_ranks(both, &tier, nullptr);
    expect_ranks(both, &tier, &packed);
  }
}

// Steps from the even rank until one changes less than the goal.
std::uint32_t steps_from_even(const Csr& graph) {
  const auto vertices = static_cast<double>(graph.vertices());
  std::vector<double> ranks(graph.vertices(), 1 / vertices);
  double changed = 1;
  std::uint32_t steps = 0;
  for (; changed >= lean::kRankGoal; ++steps) {
    std::vector<double> next(graph.vertices(), (1 - graph::kDamping) / vertices);
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      for (const Vertex u : graph.neighbours(v)) {
        next[u] += graph::kDamping * ranks[v] / static_cast<double>(graph.degree(v));
      }
    }
    changed = 0;
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      changed += graph.degree(v) > 0 ? std::abs(next[v] - ranks[v]) : 0;
    }
    ranks = std::move(next);
  }
  return steps;
}

TEST(LeanPrModel, takes_few_sweeps_over_compressed_lists_few_bytes_each) {
  for (const char* spec : {"kron:16", "urand:16", "dense:11"}) {
    const Csr made = graph::make_graph(graph::parse_graph_spec(spec), false);
    const BothWays both(graph::relabel(made, graph::order_of(made, graph::Order::degree)));
    const lean::CompressedLists packed = lean::compress(both.graph, nullptr, false);
    expect_ranks(both, nullptr, &packed);
    const LeanPr plain = replay_pr({&both.graph}, both.graph);
    const LeanPr fewer = replay_pr({&both.graph, nullptr, &packed}, both.graph);
    EXPECT_LE(plain.sweeps, 5U) << spec;
    EXPECT_LT(plain.sweeps, steps_from_even(both.graph)) << spec;
    EXPECT_LT(fewer.sweep.bytes(), plain.sweep.bytes() * 2 / 3) << spec;
  }
}

TEST(LeanPrModel, keeps_a_star_and_a_directed_circle_right) {
  for (const bool directed : {false, true}) {
    std::vector<graph::Triple> star;
    std::vector<graph::Triple> circle;
    for (std::uint32_t v = 0; v < 5000; ++v) {
      star.push_back({v + 1, 0, 1});
      circle.push_back({v, (v + 1) % 5000, 1});
    }
    expect_ranks(BothWays(graph::weighted_graph(5001, star, directed)), nullptr, nullptr);
    expect_ranks(BothWays(graph::weighted_graph(5000, circle, directed)), nullptr, nullptr);
  }
}

}  // namespace
}  // namespace grainscope::model
