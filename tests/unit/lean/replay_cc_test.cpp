#include <gtest/gtest.h>

#include "../graph/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/reorder.hpp"
#include "grainscope/model/lean_cc.hpp"

namespace grainscope::model {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;

TEST(LeanCcModel, labels_as_the_serial_search_whatever_is_hot) {
  for (const BothWays& both : graph::sample_graphs(false)) {
    const lean::HotTier tier = plan_tier(both.graph, lean::TierPolicy::lists, both.graph.edges() / 3);
    EXPECT_EQ(replay_cc({&both.graph}).labels, graph::serial_cc(both.graph));
    EXPECT_EQ(replay_cc({&both.graph, &tier}).labels, graph::serial_cc(both.graph));
    const lean::CompressedLists packed = lean::compress(both.graph, &tier, false);
    EXPECT_EQ(replay_cc({&both.graph, &tier, &packed}).labels, graph::serial_cc(both.graph));
  }
}

TEST(LeanCcModel, reads_every_sample_and_the_lists_outside_the_largest_component_once) {
  for (const char* spec : {"kron:12", "urand:12"}) {
    const Csr graph = graph::make_graph(graph::parse_graph_spec(spec), false);
    const lean::HotTier tier = plan_tier(graph, lean::TierPolicy::heads, graph.edges() / 20);
    for (const lean::HotTier* hot : {static_cast<const lean::HotTier*>(nullptr), &tier}) {
      const LeanCc cc = replay_cc({&graph, hot});
      std::uint64_t sampled = 0;
      for (Vertex v = 0; v < graph.vertices(); ++v) {
        sampled += std::min(lean::kSampledNeighbours, graph.degree(v));
      }
      EXPECT_EQ(cc.sampling.elements + cc.sampling_hot, sampled) << spec;
      EXPECT_LT(cc.outside, graph.vertices()) << spec;
      EXPECT_LT(cc.rest.elements, graph.edges() / 10) << spec;
    }
  }
}

TEST(LeanCcModel, samples_of_compressed_lists_are_a_sector_each_or_part_of_one) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:12"), false);
  const lean::CompressedLists packed = lean::compress(graph, nullptr, false);
  const LeanCc plain = replay_cc({&graph});
  const LeanCc fewer = replay_cc({&graph, nullptr, &packed});
  std::uint64_t listed = 0;
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    listed += graph.degree(v) > 0 ? 1 : 0;
  }
  EXPECT_LE(fewer.sampling.bytes(), listed * 32);
  EXPECT_EQ(fewer.sampling.elements, plain.sampling.elements);
  EXPECT_EQ(fewer.rest.elements, plain.rest.elements);
  EXPECT_EQ(fewer.outside, plain.outside);
}

TEST(LeanCcModel, two_words_tell_two_neighbours_unless_ids_are_long) {
  EXPECT_EQ(lean::surely_sampled(0), 2U) << "plain";
  EXPECT_EQ(lean::surely_sampled(29), 2U);
  EXPECT_EQ(lean::surely_sampled(30), 1U);
}

TEST(LeanCcModel, two_halves_of_a_graph_are_two_components) {
  // Two circles: one is the largest by the sample.
  std::vector<graph::Triple> edges;
  for (std::uint32_t v = 0; v < 64; ++v) {
    edges.push_back({v, (v + 1) % 64, 1});
    edges.push_back({64 + v, 64 + (v + 1) % 64, 1});
  }
  const Csr graph = graph::weighted_graph(128, edges, false);
  const LeanCc cc = replay_cc({&graph});
  EXPECT_EQ(cc.outside, 0U) << "the sample was all of each list";
  EXPECT_EQ(cc.labels[63], 0U);
  EXPECT_EQ(cc.labels[127], 64U);
}

TEST(LeanCcModel, refuses_a_directed_graph) {
  const Csr graph = graph::weighted_graph(3, {{0, 1, 1}}, true);
  EXPECT_THROW(static_cast<void>(replay_cc({&graph})), UsageError);
}

}  // namespace
}  // namespace grainscope::model
