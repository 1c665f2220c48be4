// How lists are read and what lies beside them: steps, hot beginnings, first neighbours, pieces.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"
#include "view.hpp"

namespace grainscope::lean {
namespace {

TEST(Steps, a_pull_reads_every_element_once_and_stops_at_boundaries) {
  for (std::uint64_t begin = 0; begin < 70; ++begin) {
    for (std::uint64_t end = begin + 1; end < 200; end += 7) {
      Step step = first_step(begin, end);
      EXPECT_EQ(step.from, begin);
      EXPECT_LE(step.to - step.from, kSectorElements);
      EXPECT_TRUE(step.to == end || step.to % kSectorElements == 0);
      std::uint64_t read = step.to;
      while (read < end) {
        step = line_step(read, end);
        ASSERT_EQ(step.from, read);
        ASSERT_GT(step.to, step.from);
        EXPECT_EQ(step.from / kLineElements, (step.to - 1) / kLineElements) << "one line";
        EXPECT_TRUE(step.to == end || step.to % kLineElements == 0);
        read = step.to;
      }
      EXPECT_EQ(read, end);
    }
  }
}

TEST(Steps, pieces_cover_a_list_and_are_eight_lines_at_most_or_two_where_few_lists_are_read) {
  for (const std::uint64_t longer : {kLongList, kLongOfFew}) {
    const std::uint64_t most = piece_elements(longer);
    EXPECT_EQ(most, longer == kLongList ? 8 * kLineElements : 2 * kLineElements);
    for (const std::uint64_t begin : {0U, 1U, 31U, 32U, 100U}) {
      for (const std::uint64_t length : {0U, 1U, 31U, 32U, 64U, 65U, 255U, 256U, 257U, 1000U}) {
        const std::uint64_t end = begin + length;
        std::uint64_t at = begin;
        for (std::uint64_t piece = 0; piece < pieces_of(begin, end, most); ++piece) {
          const Step step = piece_of(begin, end, piece, most);
          EXPECT_EQ(step.from, at);
          EXPECT_GT(step.to, step.from);
          EXPECT_LE(step.to - step.from / kLineElements * kLineElements, most);
          at = step.to;
        }
        EXPECT_EQ(at, end);
      }
    }
  }
}

TEST(Steps, hot_parts_are_handed_out_where_they_are_long) {
  EXPECT_EQ(hot_pieces_of(kLongList, kLongList), 0);
  EXPECT_EQ(hot_pieces_of(kLongList + 1, kLongList), 3);
  EXPECT_EQ(hot_pieces_of(kLongOfFew, kLongOfFew), 0);
  EXPECT_EQ(hot_pieces_of(kLongOfFew + 1, kLongOfFew), 2);
}

// A million vertices with 32 neighbours each, a tenth of them reached.
LevelAhead ahead_of(std::uint64_t active, std::uint64_t edges) {
  return {active, edges, 900'000, 28'800'000, 1'000'000, 32'000'000};
}

TEST(Steps, a_search_pulls_where_many_edges_lead_out_of_the_frontier) {
  const Turning turning;
  EXPECT_FALSE(turning.pulls(ahead_of(1, 32)));
  EXPECT_FALSE(turning.pulls(ahead_of(62'500, 2'000'000))) << "a sixteenth of the edges answers few pulls";
  EXPECT_TRUE(turning.pulls(ahead_of(500'000, 16'000'000)));
  EXPECT_FALSE(turning.pulls({100, 0, 900'000, 28'800'000, 1'000'000, 32'000'000})) << "nothing to find";
  EXPECT_TRUE(turning.pulls({100, 3200, 0, 0, 1'000'000, 32'000'000})) << "nobody is left to find it";
  EXPECT_TRUE(turning.pulls({100, 3200, 1, 40, 1'000'000, 32'000'000}));
}

TEST(Steps, a_search_pulls_earlier_where_hubs_lead_out_or_looking_is_cheap) {
  const Turning cold;
  const Turning hot{0.75, 1, 8};
  EXPECT_FALSE(cold.pulls(ahead_of(62'500, 4'000'000)));
  EXPECT_FALSE(hot.pulls(ahead_of(62'500, 2'000'000)));
  EXPECT_TRUE(hot.pulls(ahead_of(1000, 2'000'000))) << "lists begin with those hubs";
  const Turning compressed{0.4};
  EXPECT_TRUE(cold.pulls(ahead_of(500'000, 16'000'000)));
  EXPECT_FALSE(compressed.pulls(ahead_of(500'000, 16'000'000))) << "pushing is cheaper";
}

}  // namespace
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
namespace {

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

// The room for pieces of long lists: a set of lists that needs more of it would write beyond its end.
namespace {

// What a step over these lists hands out.
std::uint64_t handed_out(const Csr& lists, const HotTier* tier, const CompressedLists* compressed,
                         const std::vector<Vertex>& set) {
  return std::accumulate(set.begin(), set.end(), std::uint64_t{0}, [&](std::uint64_t sum, Vertex v) {
    return sum + pieces_of_list(lists, tier, compressed, v, long_list(set.size()));
  });
}

// Any number of lists, at random and the longest ones, of few as of one more than few.
TEST(MostPieces, is_room_for_any_set_of_lists) {
  std::mt19937 random(1);
  for (const char* spec : {"kron:16", "dense:15"}) {
    const Csr lists = graph::make_graph(graph::parse_graph_spec(spec), false);
    const HotTier tier = plan_tier(lists, TierPolicy::lists, lists.edges() / 4);
    const CompressedLists packed = compress(lists, nullptr, false);
    const CompressedLists rest = compress(lists, &tier, false);
    const std::pair<const HotTier*, const CompressedLists*> layouts[] = {
        {nullptr, nullptr}, {&tier, nullptr}, {nullptr, &packed}, {&tier, &rest}};
    std::vector<Vertex> all(lists.vertices());
    std::iota(all.begin(), all.end(), Vertex{0});
    for (const auto& [hot, compressed] : layouts) {
      const std::uint64_t most = most_pieces(lists, hot, compressed);
      std::uint64_t needed = handed_out(lists, hot, compressed, all);
      for (std::uint64_t count = 1; count <= lists.vertices(); count = count * 2 + 1) {
        for (const std::uint64_t size : {count, kFewLists, kFewLists + 1}) {
          std::vector<Vertex> set = all;
          std::shuffle(set.begin(), set.end(), random);
          if (size % 2 == 0) {
            std::sort(set.begin(), set.end(),
                      [&](Vertex a, Vertex b) { return lists.degree(a) > lists.degree(b); });
          }
          set.resize(std::min<std::uint64_t>(size, set.size()));
          needed = std::max(needed, handed_out(lists, hot, compressed, set));
          ASSERT_LE(needed, most) << spec << ", " << size << " lists";
        }
      }
      EXPECT_GE(needed * 4, most) << spec << ": far more room than anything needs";
    }
  }
}

TEST(MostPieces, of_one_list_are_its_lines_cut_in_two_or_eight) {
  Csr lists = graph::make_graph(graph::parse_graph_spec("dense:10"), false);
  Vertex longest = 0;
  for (Vertex v = 0; v < lists.vertices(); ++v) {
    longest = lists.degree(v) > lists.degree(longest) ? v : longest;
  }
  const std::uint64_t words = lists.degree(longest);
  ASSERT_GT(words, kLongOfFew);
  const std::uint64_t few = pieces_of_list(lists, nullptr, nullptr, longest, kLongOfFew);
  EXPECT_GE(few * kLongOfFew, words);
  EXPECT_LE((few - 2) * kLongOfFew, words);
  EXPECT_EQ(pieces_of_list(lists, nullptr, nullptr, longest, words), 0U) << "not longer than that";
}

}  // namespace
}  // namespace grainscope::lean
