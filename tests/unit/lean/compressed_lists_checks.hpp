#ifndef GRAINSCOPE_TESTS_COMPRESSED_LISTS_CHECKS_HPP
#define GRAINSCOPE_TESTS_COMPRESSED_LISTS_CHECKS_HPP

// What holds of compressed lists, with weights and without.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/steps.hpp"

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

}  // namespace grainscope::lean

#endif
