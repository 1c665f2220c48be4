#include "grainscope/lean/firsts.hpp"

#include <gtest/gtest.h>

#include "../graph/sample_graphs.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/reorder.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

void expect_firsts_of(const Csr& lists) {
  const HotTier half = plan_tier(lists, TierPolicy::lists, lists.edges() / 2);
  for (const HotTier* tier : {static_cast<const HotTier*>(nullptr), &half}) {
    for (const bool packed : {false, true}) {
      const Firsts firsts = first_neighbours(lists, tier, packed);
      EXPECT_EQ(firsts.packed(), packed && lists.vertices() > 0);
      for (Vertex v = 0; v < lists.vertices(); ++v) {
        if (lists.degree(v) > 0 && (tier == nullptr || tier->of(v) == 0)) {
          ASSERT_EQ(firsts.of(v), lists.neighbours(v).front()) << lists.name << ", vertex " << v;
        }
      }
    }
  }
}

TEST(Firsts, are_the_first_of_each_list) {
  for (const graph::BothWays& both : graph::all_sample_graphs()) {
    expect_firsts_of(both.graph);
    expect_firsts_of(both.in_edges());
    expect_firsts_of(graph::relabel(both.graph, graph::order_of(both.graph, graph::Order::degree)));
  }
}

TEST(Firsts, of_no_vertices_are_none) {
  expect_firsts_of(graph::weighted_graph(0, {}, false));
  expect_firsts_of(graph::weighted_graph(70, {}, false));
}

// 64 vertices of one neighbour each: of the last 32, from `low` on, `apart` of each other.
Csr two_blocks(Vertex low, Vertex apart) {
  std::vector<graph::Triple> edges;
  for (Vertex v = 0; v < 64; ++v) {
    edges.push_back({v, v < 32 ? 99'999 : low + (v - 32) * apart, 1});
  }
  return graph::weighted_graph(100'000, edges, true);
}

TEST(Firsts, take_as_many_bytes_as_the_highest_of_a_block_needs) {
  struct Case {
    Vertex low;
    Vertex apart;
    std::uint32_t bytes;
  };
  for (const Case& one : {Case{70'000, 0, 0}, Case{70'000, 8, 1}, Case{70'000, 9, 2}, Case{9, 2114, 2},
                          Case{9, 2115, 4}, Case{0, 3000, 4}}) {
    const Csr lists = two_blocks(one.low, one.apart);
    const Firsts firsts = first_neighbours(lists, nullptr, true);
    EXPECT_EQ(firsts.block(0).bytes(), 0U) << "all the same";
    EXPECT_EQ(firsts.block(1).bytes(), one.bytes) << one.apart << " apart";
    EXPECT_EQ(firsts.words.size(), one.bytes * 8) << "32 vertices";
    EXPECT_EQ(firsts.block(2).bytes(), 0U) << "without neighbours";
    expect_firsts_of(lists);
  }
}

TEST(Firsts, of_blocks_far_into_an_array_are_found) {
  const std::uint64_t begin = (std::uint64_t{1} << 32) + 8;
  const FirstsBlock block(4'000'000'000U, 2, begin);
  EXPECT_EQ(block.words().from, begin);
  EXPECT_EQ(block.words().to, begin + 16);
  EXPECT_EQ(block.word_of(31), begin + 15);
  EXPECT_EQ(block.of(31, block.placed(31, 4'000'065'535U)), 4'000'065'535U);
  const FirstsBlock plain = FirstsBlock::plain(std::uint64_t{1} << 26);
  EXPECT_EQ(plain.word_of(7), (std::uint64_t{1} << 31) + 7);
  EXPECT_EQ(plain.of(7, 4'000'000'000U), 4'000'000'000U);
}

// Where vertices of one degree go by their first neighbours, these are alike.
TEST(Firsts, packed_take_a_quarter_of_a_word_on_graphs_with_hubs) {
  const Csr made = graph::make_graph(graph::parse_graph_spec("kron:16"), false);
  const Csr lists = graph::relabel(made, graph::order_of(made, graph::Order::degree));
  std::uint64_t listed = 0;
  for (Vertex v = 0; v < lists.vertices(); ++v) {
    listed += lists.degree(v) > 0 ? 1 : 0;
  }
  EXPECT_LT(first_neighbours(lists, nullptr, true).words.size() * 4, listed);
  EXPECT_GE(first_neighbours(lists, nullptr, false).words.size(), listed);
}

}  // namespace
}  // namespace grainscope::lean
