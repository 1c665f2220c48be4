#include "grainscope/lean/compressed_lists.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "../graph/sample_graphs.hpp"
#include "compressed_lists_checks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/graph/reorder.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {
namespace {

using graph::BothWays;
using graph::Csr;
using graph::Vertex;
using graph::Weight;

TEST(CompressedLists, come_back_as_they_were_whatever_the_graph) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const HotTier tier = plan_tier(both.graph, TierPolicy::heads, both.graph.edges() / 3);
    for (const bool weights : {false, true}) {
      expect_the_same(both.graph, nullptr, weights);
      expect_the_same(both.graph, &tier, weights);
    }
  }
}

TEST(CompressedLists, come_back_as_they_were_from_generated_graphs) {
  for (const char* spec : {"kron:14", "urand:14", "web:12", "dense:11"}) {
    const Csr graph = graph::make_graph(graph::parse_graph_spec(spec), true);
    const HotTier tier = plan_tier(graph, TierPolicy::lists, graph.edges() / 4);
    for (const bool weights : {false, true}) {
      expect_the_same(graph, nullptr, weights);
      expect_the_same(graph, &tier, weights);
    }
  }
}

// Lists of random gaps of every width, from vertices enough to have them.
Csr of_random_gaps(std::uint64_t seed, std::uint32_t weight_bits) {
  constexpr Vertex kVertices = 1 << 21;
  std::mt19937_64 random(seed);
  std::vector<graph::Triple> edges;
  for (std::uint32_t list = 0; list < 60; ++list) {
    const std::uint32_t length = 1U << random() % 12;
    std::uint64_t at = random() % 50'000;
    for (std::uint32_t i = 0; i < length && at < kVertices; ++i) {
      edges.push_back({list, static_cast<Vertex>(at), static_cast<Weight>(random() >> (64 - weight_bits))});
      at += 1 + (random() >> (64 - 1 - random() % 16));
    }
  }
  return graph::weighted_graph(kVertices, edges, true);
}

TEST(CompressedLists, come_back_as_they_were_from_gaps_of_every_width) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Csr graph = of_random_gaps(seed, 1 + static_cast<std::uint32_t>(seed) * 31 / 12);
    expect_the_same(graph, nullptr, false);
    expect_the_same(graph, nullptr, true);
  }
}

TEST(CompressedLists, have_the_bits_that_are_documented) {
  // Vertex 0: neighbours 3, 4 and 7 of eight vertices.
  const Csr graph = graph::weighted_graph(8, {{0, 3, 2}, {0, 4, 0}, {0, 7, 3}}, true);
  const CompressedLists plain = compress(graph, nullptr, false);
  ASSERT_EQ(plain.id_bits, 3);
  // First 3 in 3 bits, width 2 in 5, gaps less one 0 and 2 in 2 each.
  EXPECT_EQ(plain.words[0], 3U | 2U << 3 | 0U << 8 | 2U << 10);
  EXPECT_EQ(plain.places[0].count(), 3);
  EXPECT_EQ(plain.places[0].end() - plain.places[0].begin(), 1U);
  EXPECT_EQ(plain.places[1].end(), plain.places[1].begin());
  EXPECT_EQ(plain.bytes_read(), 32U);
}

TEST(CompressedLists, of_several_lines_tell_in_each_how_many_it_has) {
  // Vertex 0 has all 1,023 others: gaps of one take no bits, and a line holds 256 by its count.
  std::vector<graph::Triple> edges;
  for (std::uint32_t to = 1; to < 1024; ++to) {
    edges.push_back({0, to, 1});
  }
  const Csr graph = graph::weighted_graph(1024, edges, true);
  const CompressedLists lists = compress(graph, nullptr, false);
  EXPECT_TRUE(lists.places[0].is_long());
  EXPECT_EQ(line_counts(lists, 0), (std::vector<std::uint32_t>{256, 256, 256, 255}));
  EXPECT_EQ(lists.words[0], 255U | 1U << 8);
  EXPECT_EQ(lists.words[kLineElements], 255U | 257U << 8);
}

TEST(ListPlace, keeps_what_it_is_given) {
  const ListPlace empty;
  EXPECT_EQ(empty.begin(), empty.end());
  const ListPlace within(ListPlace::kMostBegin - 1, 32, 256);
  EXPECT_FALSE(within.is_long());
  EXPECT_EQ(within.begin(), ListPlace::kMostBegin - 1);
  EXPECT_EQ(within.end() - within.begin(), 32U);
  EXPECT_EQ(within.count(), 256);
  const ListPlace longer(1024, ListPlace::kMostWords - 1, 0);
  EXPECT_TRUE(longer.is_long());
  EXPECT_EQ(longer.begin(), 1024U);
  EXPECT_EQ(longer.end() - longer.begin(), ListPlace::kMostWords - 1);
}

TEST(CompressedLists, tell_how_many_neighbours_their_first_sector_has) {
  for (const BothWays& both : graph::all_sample_graphs()) {
    const CompressedLists lists = compress(both.graph, nullptr, false);
    for (Vertex v = 0; v < both.graph.vertices(); ++v) {
      if (both.graph.degree(v) > 0) {
        const std::uint32_t told = first_sector_count(lists, v);
        EXPECT_EQ(told, std::min<std::uint64_t>(both.graph.degree(v), 1 + kBlockElements)) << v;
      }
    }
  }
  // Three neighbours, two wide gaps.
  std::vector<graph::Triple> edges;
  for (std::uint32_t i = 0; i < 3; ++i) {
    edges.push_back({0, 1 + i * (1U << 19), 1});
  }
  const Csr wide = graph::weighted_graph(1 << 21, edges, true);
  EXPECT_EQ(first_sector_count(compress(wide, nullptr, false), 0), 3U);
}

TEST(CompressedLists, are_read_in_fewer_bytes) {
  const auto ratio = [](const char* spec) {
    const Csr made = graph::make_graph(graph::parse_graph_spec(spec), false);
    const Csr graph = graph::relabel(made, graph::order_of(made, graph::Order::degree));
    return static_cast<double>(sectors_raw(graph) * 32) /
           static_cast<double>(compress(graph, nullptr, false).bytes_read());
  };
  EXPECT_GT(ratio("kron:16"), 2.3);
  EXPECT_GT(ratio("urand:16"), 1.6);
  EXPECT_GT(ratio("dense:12"), 3);
}

TEST(CompressedLists, refuse_weights_that_are_not_there) {
  const Csr graph = graph::make_graph(graph::parse_graph_spec("kron:8"), false);
  EXPECT_THROW(static_cast<void>(compress(graph, nullptr, true)), UsageError);
  EXPECT_NO_THROW(require_ids(std::uint64_t{1} << 31U));
  EXPECT_THROW(require_ids((std::uint64_t{1} << 31U) + 1), SkipError) << "a row that says so is skipped";
}

}  // namespace
}  // namespace grainscope::lean
