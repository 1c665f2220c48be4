#include <gtest/gtest.h>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_sssp.hpp"

namespace grainscope::model {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

TEST(LeanSsspModel, finds_the_distances_of_dijkstra_whatever_delta) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    if (!both.graph.weighted()) {
      continue;
    }
    const lean::HotTier tier = plan_tier(both.graph, lean::TierPolicy::lists, both.graph.edges() / 3);
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, true);
    for (Vertex source = 0; source < both.graph.vertices(); source += 1 + both.graph.vertices() / 4) {
      const auto expected = graph::serial_sssp(both.graph, source);
      for (const std::uint32_t delta : {1U, 5U, 1000U}) {
        EXPECT_EQ(replay_sssp({&both.graph}, source, delta).distances, expected);
        EXPECT_EQ(replay_sssp({&both.graph, &tier}, source, delta).distances, expected);
        EXPECT_EQ(replay_sssp({&both.graph, &tier, &packed}, source, delta).distances, expected);
      }
    }
  }
}

// How often lists are read with a threshold that rises by so many times the usual.
double reads_a_list(const Csr& graph, std::uint32_t times) {
  const std::uint64_t delta = std::uint64_t{lean::usual_delta(graph)} * times;
  return static_cast<double>(
             replay_sssp({&graph}, 7, static_cast<std::uint32_t>(std::min<std::uint64_t>(delta, 1U << 30)))
                 .total()
                 .elements) /
         static_cast<double>(graph.edges());
}

TEST(LeanSsspModel, reads_lists_little_more_than_once_where_the_threshold_rises_slowly) {
  const Csr urand = graph::make_graph(graph::parse_graph_spec("urand:14"), true);
  EXPECT_LT(reads_a_list(urand, 1), 1.1);
  EXPECT_LT(reads_a_list(urand, 1), reads_a_list(urand, 3));
  EXPECT_GT(reads_a_list(urand, 1 << 20), 3);
  const Csr kron = graph::make_graph(graph::parse_graph_spec("kron:14"), true);
  EXPECT_LT(reads_a_list(kron, 1), 2);
  EXPECT_LT(reads_a_list(kron, 1), reads_a_list(kron, 3));
  EXPECT_GT(reads_a_list(kron, 1 << 20), 2);
}

TEST(LeanSsspModel, weights_are_packed_where_they_fit) {
  const Csr narrow = graph::make_graph(graph::parse_graph_spec("kron:12"), true);
  EXPECT_EQ(lean::vertex_bits(narrow), 12);
  EXPECT_TRUE(lean::packs_weights(narrow));
  const Csr wide = graph::weighted_graph(3, {{0, 1, 1U << 30}, {1, 2, 5}}, true);
  EXPECT_EQ(lean::vertex_bits(wide), 2);
  EXPECT_FALSE(lean::packs_weights(wide));
  const LeanSssp both = replay_sssp({&wide}, 0, 1);
  EXPECT_EQ(both.total().count(), 4U) << "of each list its neighbours and its weights";
  EXPECT_EQ(both.total().elements, 2U);
}

TEST(LeanSsspModel, compressed_lists_have_their_weights_within) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:14"), true);
  const lean::CompressedLists packed = lean::compress(graph, nullptr, true);
  const LeanSssp plain = replay_sssp({&graph}, 7, lean::usual_delta(graph));
  const LeanSssp fewer = replay_sssp({&graph, nullptr, &packed}, 7, lean::usual_delta(graph));
  EXPECT_EQ(fewer.total().elements, plain.total().elements);
  EXPECT_LT(static_cast<double>(fewer.total().bytes()), 0.75 * static_cast<double>(plain.total().bytes()));
}

TEST(LeanSsspModel, refuses_what_cannot_be) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:8"), false);
  const Csr weighted = graph::make_graph(graph::parse_graph_spec("kron:8"), true);
  EXPECT_THROW(static_cast<void>(replay_sssp({&graph}, 0, 1)), UsageError);
  EXPECT_THROW(static_cast<void>(replay_sssp({&weighted}, 0, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(replay_sssp({&weighted}, 1 << 20, 1)), UsageError);
}

}  // namespace
}  // namespace grainscope::model
