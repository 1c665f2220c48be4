// Compressed lists, with weights and without, say what they were made of.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "../../testing/sample_graphs.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {

inline void expect_sound_places(const CompressedLists& lists) {
  std::uint64_t end = 0;
  for (const ListPlace& place : lists.places) {
    EXPECT_GE(place.begin(), end) << "lists lie on each other";
    end = place.end();
    const std::uint64_t words = place.end() - place.begin();
    const std::uint64_t within = words <= kSectorElements ? kSectorElements : kLineElements;
    EXPECT_LE(place.begin() % within + std::min(words, within), within)
        << "a list straddles what it fits into";
    EXPECT_EQ(words > kSectorElements ? place.begin() % kSectorElements : 0, 0U);
    EXPECT_EQ(place.is_long(), words > kLineElements);
  }
  EXPECT_LE(end, lists.words.size());
  EXPECT_EQ(lists.words.size() % kLineElements, 0U);
}

// Lists come back as they were.
inline void expect_the_same(const graph::Csr& graph, const HotTier* tier, bool weights) {
  const CompressedLists lists = compress(graph, tier, weights);
  expect_sound_places(lists);
  std::uint64_t elements = 0;
  for (graph::Vertex v = 0; v < graph.vertices(); ++v) {
    const std::uint64_t hot = tier != nullptr ? tier->of(v) : 0;
    const auto ids = graph.neighbours(v).subspan(hot);
    const Neighbours found = decompress(lists, v);
    ASSERT_TRUE(std::equal(ids.begin(), ids.end(), found.ids.begin(), found.ids.end())) << v;
    if (weights) {
      const auto expected = graph.weights_of(v).subspan(hot);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.weights.begin(), found.weights.end()))
          << v;
    }
    std::uint64_t counted = 0;
    for (const std::uint32_t count : line_counts(lists, v)) {
      counted += count;
    }
    ASSERT_EQ(counted, ids.size());
    elements += ids.size();
  }
  EXPECT_EQ(lists.elements, elements);
}

// Sectors that a walk over all lists reads, of four-byte neighbours one after the other.
inline std::uint64_t sectors_raw(const graph::Csr& graph) {
  std::uint64_t sectors = 0;
  for (graph::Vertex v = 0; v < graph.vertices(); ++v) {
    const std::uint64_t begin = graph.offsets[v];
    const std::uint64_t end = graph.offsets[v + std::uint64_t{1}];
    sectors += begin == end ? 0 : (end - 1) / kSectorElements - begin / kSectorElements + 1;
  }
  return sectors;
}

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

// Compressed lists with weights: an edge is one number.
namespace {

// One list of neighbours at these gaps, each with a weight.
Csr of_gaps(const std::vector<std::uint32_t>& gaps, const std::vector<Weight>& weights, Vertex vertices) {
  std::vector<graph::Triple> edges;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    at += gaps[i];
    edges.push_back({0, static_cast<Vertex>(at), weights[i % weights.size()]});
  }
  return graph::weighted_graph(vertices, edges, true);
}

TEST(WeightedLists, come_back_as_they_were_whatever_the_range_of_weights) {
  constexpr Weight kMost = ~Weight{0};
  // Many that are near and some far: what is above low bits goes on for hundreds of zeros.
  std::vector<std::uint32_t> gaps(900, 1);
  for (std::size_t i = 100; i < gaps.size(); i += 100) {
    gaps[i] = static_cast<std::uint32_t>(i);
  }
  const std::vector<std::vector<Weight>> ranges{
      {7}, {7, 8}, {kMost}, {kMost - 1, kMost}, {0, kMost}, {8, 72, 9, 71, 40}, {524'286, 0}, {524'287, 0}};
  for (const std::vector<Weight>& weights : ranges) {
    SCOPED_TRACE(weights.back());
    expect_the_same(of_gaps(gaps, weights, 8192), nullptr, true);
    expect_the_same(of_gaps({0, 8190, 1}, weights, 8192), nullptr, true);
    expect_the_same(of_gaps({1}, weights, 2), nullptr, true);
    expect_the_same(of_gaps({5, 1}, weights, 1 << 20), nullptr, true);
  }
}

// As many neighbours as a line that begins with the first of these has room for, at any width: weights are in
// the numbers of edges.
std::uint32_t most_in_line(const CompressedLists& lists, std::span<const Vertex> ids,
                           std::span<const Weight> weights, bool counted) {
  std::size_t most = 1;
  for (int width = 0; width < 32; ++width) {
    std::uint64_t bits = (counted ? kCountBits : 0) + lists.id_bits + lists.weights.first_bits + kWidthBits;
    for (std::size_t i = 1; i < std::min<std::size_t>(ids.size(), kMostOfLine); ++i) {
      const std::uint64_t number =
          std::uint64_t{ids[i] - ids[i - 1] - 1} * lists.weights.range + (weights[i] - lists.weights.least);
      bits += static_cast<unsigned>(width) + (number >> width) + 1;
      most = bits <= 32 * kLineElements ? std::max(most, i + 1) : most;
    }
  }
  return static_cast<std::uint32_t>(most);
}

void expect_full_lines(const Csr& graph) {
  const CompressedLists lists = compress(graph, nullptr, true);
  ASSERT_EQ(lists.weights.beside_bits, 0);
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    auto ids = graph.neighbours(v);
    auto weights = graph.weights_of(v);
    if (ids.empty()) {
      continue;
    }
    ASSERT_EQ(lists.places[v].is_long(), most_in_line(lists, ids, weights, false) < ids.size()) << v;
    for (const std::uint32_t count : line_counts(lists, v)) {
      ASSERT_EQ(count, most_in_line(lists, ids, weights, lists.places[v].is_long())) << v;
      ids = ids.subspan(count);
      weights = weights.subspan(count);
    }
  }
}

TEST(WeightedLists, have_lines_as_full_as_any_width_makes_them) {
  // Between the widths at which most of these fit into a line is one at which fewer do.
  std::vector<std::uint32_t> gaps(164, 17);
  gaps.front() = 1;
  gaps[162] = 1;
  gaps[163] = 481;
  const Csr uneven = of_gaps(gaps, {9}, 100'000);
  expect_the_same(uneven, nullptr, true);
  expect_full_lines(uneven);
  std::mt19937_64 random(3);
  for (int list = 0; list < 4000; ++list) {
    const auto stride = static_cast<std::uint32_t>(1 + random() % 24);
    std::vector<std::uint32_t> apart(20 + random() % 260, stride);
    for (std::uint64_t far = random() % 6; far > 0; --far) {
      apart[random() % apart.size()] = static_cast<std::uint32_t>(1 + random() % 900);
    }
    const std::vector<Weight> weights(1, 9);
    const Csr graph = of_gaps(apart, random() % 2 == 0 ? weights : std::vector<Weight>{9, 10}, 1 << 14);
    ASSERT_NO_FATAL_FAILURE(expect_full_lines(graph)) << list;
  }
  const Csr made = graph::make_graph(graph::parse_graph_spec("kron:11"), true);
  expect_full_lines(graph::relabel(made, graph::order_of(made, graph::Order::degree)));
}

TEST(WeightedLists, have_weights_in_the_numbers_of_edges_as_long_as_these_fit_32_bits) {
  const auto code = [](Weight most) {
    return compress(of_gaps({1, 1}, {0, most}, 1 << 20), nullptr, true).weights;
  };
  EXPECT_EQ(code(4094).range, 4095U);
  EXPECT_EQ(code(4094).beside_bits, 0);
  EXPECT_EQ(code(4095).range, 1U);
  EXPECT_EQ(code(4095).beside_bits, 12);
  for (const Weight most : {1U, 2U, 64U, 1023U, 4094U}) {
    const WeightCode of_these = code(most);
    for (std::uint64_t number = 0; number <= 0xffffffff; number += 9'999'991) {
      ASSERT_EQ(of_these.gap_of(static_cast<std::uint32_t>(number)), number / of_these.range) << number;
    }
  }
}

TEST(WeightedLists, have_the_bits_that_are_documented) {
  // Vertex 0: neighbours 3, 4 and 7 of eight vertices, weights 2, 0 and 3 of two bits.
  const Csr graph = graph::weighted_graph(8, {{0, 3, 2}, {0, 4, 0}, {0, 7, 3}}, true);
  // First 3 and its weight 2 in 2 bits; edges 0 * 4 + 0 and 2 * 4 + 3: width 4, both low, nothing above.
  const CompressedLists weighted = compress(graph, nullptr, true);
  ASSERT_EQ(weighted.weights.range, 4U);
  EXPECT_EQ(weighted.words[0], 3U | 2U << 3 | 4U << 5 | 0U << 10 | 11U << 14 | 3U << 18);
  // Ten neighbours, gaps less one of 0 and last of 2, of one weight: width 1, nine low bits of 0, eight ones,
  // and for the last a zero and a one.
  std::vector<std::uint32_t> gaps(10, 1);
  gaps.back() = 3;
  EXPECT_EQ(compress(of_gaps(gaps, {5}, 64), nullptr, true).words[0], 1U | 1U << 6 | 0xffU << 20 | 1U << 29);
}

// A graph of 2^24 vertices of which the first have lists as those of urand:24 are.
Csr beginning_of_urand24(Vertex listed) {
  constexpr Vertex kVertices = 1 << 24;
  std::mt19937_64 random(24);
  std::poisson_distribution<std::uint32_t> degree(32);
  std::vector<Vertex> ends;
  Csr graph;
  graph.offsets = HostArray<graph::Edge>(kVertices + std::uint64_t{1});
  for (Vertex v = 0; v < kVertices; ++v) {
    if (v < listed) {
      std::set<Vertex> list;
      for (std::uint32_t left = degree(random); left > 0; --left) {
        list.insert(static_cast<Vertex>(random() % kVertices));
      }
      ends.insert(ends.end(), list.begin(), list.end());
    }
    graph.offsets[v + std::uint64_t{1}] = ends.size();
  }
  graph.targets = HostArray<Vertex>(ends.size());
  graph.weights = HostArray<Weight>(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    graph.targets[i] = ends[i];
    graph.weights[i] = static_cast<Weight>(8 + random() % 65);
  }
  return graph;
}

TEST(WeightedLists, are_read_in_fewer_bytes_than_with_these_in_the_bits_that_ids_leave) {
  const Csr graph = beginning_of_urand24(20'000);
  ASSERT_TRUE(packs_weights(graph));
  const CompressedLists lists = compress(graph, nullptr, true);
  const double ratio = static_cast<double>(sectors_raw(graph) * 32) / static_cast<double>(lists.bytes_read());
  EXPECT_GT(ratio, 1.26);
  EXPECT_LT(ratio, 1.28);
  for (Vertex v = 0; v < 20'000; v += 97) {
    const Neighbours found = decompress(lists, v);
    const auto ids = graph.neighbours(v);
    const auto weights = graph.weights_of(v);
    ASSERT_TRUE(std::equal(ids.begin(), ids.end(), found.ids.begin(), found.ids.end())) << v;
    ASSERT_TRUE(std::equal(weights.begin(), weights.end(), found.weights.begin(), found.weights.end())) << v;
  }
  const auto small = [](const char* spec) {
    const Csr made = graph::make_graph(graph::parse_graph_spec(spec), false);
    Csr ordered = graph::relabel(made, graph::order_of(made, graph::Order::degree));
    graph::draw_weights(ordered, 8, 72, 1);
    return static_cast<double>(sectors_raw(ordered) * 32) /
           static_cast<double>(compress(ordered, nullptr, true).bytes_read());
  };
  EXPECT_GT(small("kron:16"), 1.9);
  EXPECT_GT(small("urand:16"), 1.6);
}

}  // namespace
}  // namespace grainscope::lean
