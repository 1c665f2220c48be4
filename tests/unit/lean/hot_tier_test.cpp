#include "grainscope/lean/hot_tier.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

// Of every list no more than there is, and in all as much as was asked for.
void expect_sound(const Csr& graph, const HotTier& tier, std::uint64_t asked) {
  ASSERT_EQ(tier.offsets.size(), graph.vertices() + std::uint64_t{1});
  EXPECT_EQ(tier.offsets[0], 0U);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    ASSERT_LE(tier.offsets[v], tier.offsets[v + std::uint64_t{1}]);
    ASSERT_LE(tier.of(v), graph.degree(v));
  }
  EXPECT_EQ(tier.elements(), std::min(asked, graph.edges()));
}

TEST(HotTier, holds_what_was_asked_for_whatever_the_graph) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const std::uint64_t edges = both.graph.edges();
    for (const std::uint64_t asked :
         {std::uint64_t{0}, std::uint64_t{1}, edges / 10, edges / 4, edges, edges + 5}) {
      expect_sound(both.graph, plan_tier(both.graph, TierPolicy::heads, asked), asked);
      expect_sound(both.graph, plan_tier(both.graph, TierPolicy::lists, asked), asked);
      expect_sound(both.graph, plan_by_reuse(both.graph, no_reads(both.graph), asked), asked);
    }
  }
}

Csr three_lists() {
  // Degrees 3 (vertex 0), 5 (1) and 1 (2), one way.
  std::vector<graph::Triple> edges;
  for (const std::uint32_t to : {4U, 5U, 6U}) {
    edges.push_back({0, to, 1});
  }
  for (const std::uint32_t to : {3U, 4U, 5U, 6U, 7U}) {
    edges.push_back({1, to, 1});
  }
  edges.push_back({2, 7, 1});
  return graph::weighted_graph(8, edges, true);
}

TEST(HotTier, heads_are_dealt_out_evenly) {
  const HotTier tier = plan_tier(three_lists(), TierPolicy::heads, 6);
  EXPECT_EQ(tier.of(0), 3U);  // two of each with so many, and a third of the first
  EXPECT_EQ(tier.of(1), 2U);
  EXPECT_EQ(tier.of(2), 1U);
}

TEST(HotTier, the_longest_lists_come_first) {
  const HotTier tier = plan_tier(three_lists(), TierPolicy::lists, 7);
  EXPECT_EQ(tier.of(1), 5U);
  EXPECT_EQ(tier.of(0), 2U);
  EXPECT_EQ(tier.of(2), 0U);
}

Csr two_long_lists() {
  std::vector<graph::Triple> edges;
  for (std::uint32_t to = 2; to < 22; ++to) {
    edges.push_back({0, to, 1});
    edges.push_back({1, to, 1});
  }
  return graph::weighted_graph(22, edges, true);
}

TEST(HotTier, what_was_read_most_often_is_kept) {
  const Csr graph = two_long_lists();  // of 20: sectors of 8, 8 and 4
  ReadCounts reads = no_reads(graph);
  ASSERT_EQ(reads.before[1], 3U);
  const std::uint16_t counts[] = {5, 1, 0, 9, 5, 5};
  std::copy(std::begin(counts), std::end(counts), reads.counts.data());
  const HotTier tier = plan_by_reuse(graph, reads, 8 + 8 + 8 + 2);
  EXPECT_EQ(tier.of(1), 18U);  // the first sector of 9 reads, of 5 as many as there is room for
  EXPECT_EQ(tier.of(0), 8U);
}

TEST(HotTier, reuse_needs_counts) {
  EXPECT_THROW(static_cast<void>(plan_tier(three_lists(), TierPolicy::reuse, 3)), UsageError);
}

}  // namespace
}  // namespace grainscope::lean
