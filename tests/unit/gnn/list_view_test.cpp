#include "list_view.hpp"

#include <gtest/gtest.h>

#include <set>

namespace grainscope::gnn {
namespace {

// Lists that are interleaved over GPUs: every entry has a place of its own, within what its part has.
TEST(PlaceOf, gives_every_entry_a_place_of_its_own_within_its_part) {
  for (const std::uint32_t parts : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t edges :
         {std::uint64_t{1}, kPieceEntries - 1, kPieceEntries, 5 * kPieceEntries + 7, 6 * kPieceEntries}) {
      std::set<std::pair<std::uint32_t, std::uint64_t>> places;
      for (std::uint64_t entry = 0; entry < edges; entry += 97) {
        const EntryPlace place = place_of(entry, parts);
        ASSERT_LT(place.part, parts);
        ASSERT_LT(place.entry, pieces_of(edges, place.part, parts) * kPieceEntries);
        ASSERT_TRUE(places.emplace(place.part, place.entry).second);
      }
      std::uint64_t pieces = 0;
      for (std::uint32_t part = 0; part < parts; ++part) {
        pieces += pieces_of(edges, part, parts);
      }
      EXPECT_EQ(pieces, (edges + kPieceEntries - 1) / kPieceEntries);
    }
  }
}

TEST(PlaceOf, keeps_pieces_whole_and_takes_parts_in_turn) {
  EXPECT_EQ(place_of(0, 3).part, 0U);
  EXPECT_EQ(place_of(kPieceEntries - 1, 3).part, 0U);
  EXPECT_EQ(place_of(kPieceEntries, 3).part, 1U);
  EXPECT_EQ(place_of(3 * kPieceEntries + 5, 3).part, 0U);
  EXPECT_EQ(place_of(3 * kPieceEntries + 5, 3).entry, kPieceEntries + 5);
}

}  // namespace
}  // namespace grainscope::gnn
