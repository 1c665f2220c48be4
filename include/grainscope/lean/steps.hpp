#ifndef GRAINSCOPE_LEAN_STEPS_HPP
#define GRAINSCOPE_LEAN_STEPS_HPP

// How lean traversals read adjacency lists of 4-byte neighbours: the one description that kernels run and the
// model counts.
//
// Push reads whole lists, pull reads a list from its beginning and stops at the first neighbour that answers.
// The beginning of a list may lie in GPU memory (hot_tier.hpp); what follows is read over the link: push in
// pieces of 256 elements, or 64 where few lists are read, between boundaries of 128 bytes; pull first up to
// the next boundary of 32 bytes, eight lanes a list, then up to the next boundary of 128, and from there line
// by line, a warp a list.
// First neighbours of lists of which nothing is hot may lie side by side as well, in an array of their own:
// there pull looks before it looks at lists, a warp at those of 32 vertices together, and components join
// them. Elements are numbered in the edge array, which begins at a boundary of 128 bytes.

#include <cstdint>

namespace grainscope::lean {

inline constexpr int kWarpLanes = 32;
inline constexpr int kTeamLanes = 8;  // that read a list's beginning together: a sector
inline constexpr std::uint64_t kSectorElements = 8;
inline constexpr std::uint64_t kLineElements = 32;
inline constexpr std::uint64_t kPieceElements = 256;  // eight lines: what a warp keeps in flight
// Longer lists are cut into pieces that all warps share; where few lists are read, no more than there are
// warps or so, already those of more than two lines, into pieces of two: nobody is to wait for one warp,
// which decodes eight compressed lines of a hub's list one after the other.
inline constexpr std::uint64_t kLongList = 512;
inline constexpr std::uint64_t kLongOfFew = 64;
inline constexpr std::uint64_t kFewLists = 16384;
[[nodiscard]] constexpr std::uint64_t long_list(std::uint64_t lists_read) {
  return lists_read <= kFewLists ? kLongOfFew : kLongList;
}

// Elements [from, to) of the edge array that are read together.
struct Step {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// Sectors that words [from, to) lie in.
[[nodiscard]] constexpr std::uint64_t sectors_of(const Step& words) {
  return words.from == words.to ? 0 : (words.to - 1) / kSectorElements - words.from / kSectorElements + 1;
}

// Of a pull: the first step over the link of a list whose part there is [begin, end), by a team.
[[nodiscard]] constexpr Step first_step(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t boundary = (begin / kSectorElements + 1) * kSectorElements;
  return {begin, boundary < end ? boundary : end};
}
// And each later one, by a warp.
[[nodiscard]] constexpr Step line_step(std::uint64_t from, std::uint64_t end) {
  const std::uint64_t boundary = (from / kLineElements + 1) * kLineElements;
  return {from, boundary < end ? boundary : end};
}

// Elements of a piece of the lists that are `longer`.
[[nodiscard]] constexpr std::uint64_t piece_elements(std::uint64_t longer) {
  return longer < kPieceElements ? longer : kPieceElements;
}
// Pieces that the hot part of a list is handed out in: none unless it is `longer`.
[[nodiscard]] constexpr std::uint64_t hot_pieces_of(std::uint64_t hot, std::uint64_t longer) {
  return hot > longer ? (hot + piece_elements(longer) - 1) / piece_elements(longer) : 0;
}

// Of a push: pieces of `elements` that [begin, end) is cut into, and piece number `piece`.
[[nodiscard]] constexpr std::uint64_t pieces_of(std::uint64_t begin, std::uint64_t end,
                                                std::uint64_t elements = kPieceElements) {
  const std::uint64_t first = begin / kLineElements * kLineElements;
  return begin < end ? (end - first + elements - 1) / elements : 0;
}
[[nodiscard]] constexpr Step piece_of(std::uint64_t begin, std::uint64_t end, std::uint64_t piece,
                                      std::uint64_t elements = kPieceElements) {
  const std::uint64_t first = begin / kLineElements * kLineElements + piece * elements;
  const std::uint64_t last = first + elements;
  return {first < begin ? begin : first, last < end ? last : end};
}

}  // namespace grainscope::lean

#endif
