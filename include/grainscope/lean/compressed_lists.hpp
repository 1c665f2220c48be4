#ifndef GRAINSCOPE_LEAN_COMPRESSED_LISTS_HPP
#define GRAINSCOPE_LEAN_COMPRESSED_LISTS_HPP

// Adjacency lists in fewer bytes: gaps between neighbours, in lines of 128 bytes each of which a warp decodes
// from what it has read of it and nothing else.
//
// A line is a string of bits, the lowest of its first word first. It begins, of lists of several lines, with
// how many neighbours it holds less one (8 bits; of others their place tells), and with the first of them
// (id_bits). What follows is
//
// - without weights, for each block of eight further neighbours the width of its gaps (5 bits), and for each
//   of these neighbours its gap to the one before less one, at its block's width. The second neighbour comes
//   before all widths but its own, so that two words tell two neighbours;
// - with weights, the weight of the first, and every other edge as one number, of gap and weight together
//   (WeightCode), in Rice's code (1979): the width of what is low in these (5 bits), of each edge what is
//   low, then of each what is above that, as many zeros and a one. So one of 65 weights takes the 6.02 bits
//   that tell it, not seven, and no edge is told at the width of the widest one near it.
//
// Lists take whole words: up to eight within a sector of 32 bytes, up to 32 from the beginning of a sector
// and within a line, more from the beginning of a line; then all lines but the last are as full as can be.

#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/hot_tier.hpp"
#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {

inline constexpr int kCountBits = 8;
inline constexpr int kWidthBits = 5;
inline constexpr int kBlockElements = 8;
inline constexpr std::uint32_t kMostOfLine = 1U << kCountBits;
inline constexpr int kWordBits = 32;
inline constexpr int kLineBits = kWordBits * static_cast<int>(kLineElements);
inline constexpr int kMostIdBits = 31;  // what a width of five bits can be of

// Blocks of a line of `count` neighbours.
[[nodiscard]] constexpr int blocks_of_line(int count) {
  return (count - 1 + kBlockElements - 1) / kBlockElements;
}

// Where a list's words are, counted from the beginning of the first line.
class ListPlace {
 public:
  static constexpr std::uint64_t kMostBegin = std::uint64_t{1} << 38;
  static constexpr std::uint64_t kMostWords = std::uint64_t{1} << 25;

  constexpr ListPlace() = default;
  // `count`: of a list within a line its neighbours, 1 to 256; of a longer one, or one of none, not kept.
  constexpr ListPlace(std::uint64_t begin, std::uint64_t words, std::uint32_t count)
      : bits_(begin | (words > kLineElements
                           ? kLong | words << kBeginBits
                           : words << kBeginBits | std::uint64_t{(count - 1) & 0xff} << kCountAt)) {}

  [[nodiscard]] constexpr bool is_long() const { return (bits_ & kLong) != 0; }
  [[nodiscard]] constexpr std::uint64_t begin() const { return bits_ & (kMostBegin - 1); }
  [[nodiscard]] constexpr std::uint64_t end() const {
    return begin() + (bits_ >> kBeginBits & (is_long() ? kMostWords - 1 : 0x3f));
  }
  [[nodiscard]] constexpr int count() const { return static_cast<int>(bits_ >> kCountAt & 0xff) + 1; }

 private:
  static constexpr int kBeginBits = 38;
  static constexpr int kCountAt = kBeginBits + 6;
  static constexpr std::uint64_t kLong = std::uint64_t{1} << 63;
  std::uint64_t bits_ = 0;
};

// How an edge is one number: (gap less one) * range + (weight - least), below 2^32. Where weights are too
// many for that they lie beside what is low of the gap, and the range is 1.
struct WeightCode {
  graph::Weight least = 0;
  std::uint32_t range = 0;       // 0: without weights
  std::uint64_t reciprocal = 0;  // 2^64 / range, rounded up; of a range above 1
  int first_bits = 0;            // of a line's first weight, less the least
  int beside_bits = 0;           // of a weight beside its gap, less the least

  [[nodiscard]] constexpr bool given() const { return range > 0; }
  // The gap less one of an edge's number: number / range.
  [[nodiscard]] constexpr std::uint32_t gap_of(std::uint32_t number) const {
    const std::uint64_t low = std::uint64_t{number} * static_cast<std::uint32_t>(reciprocal) >> 32;
    return range > 1 ? static_cast<std::uint32_t>((number * (reciprocal >> 32) + low) >> 32) : number;
  }
};

struct CompressedLists {
  int id_bits = 0;
  WeightCode weights;
  HostArray<ListPlace> places;     // [V]
  HostArray<std::uint32_t> words;  // whole lines of 32
  std::uint64_t elements = 0;      // neighbours in them
  // Of the sectors that a walk over every list reads, each list by itself.
  [[nodiscard]] std::uint64_t bytes_read() const;
};

// Throws SkipError for a graph of more vertices than ids have bits for.
void require_ids(std::uint64_t vertices);

// What of each list is not in the tier (null: all of it), with weights where they are wanted. All threads.
// Throws SkipError for a graph of more than 2^31 vertices, for one list of more than 128 MiB or all of more
// than 1 TiB; UsageError for weights that are not there.
[[nodiscard]] CompressedLists compress(const graph::Csr& graph, const HotTier* tier, bool weights);

// Words of what of a list is read over the link: compressed, or (null) of the array of all four-byte
// neighbours, from where the tier (null: nothing is hot) leaves off.
[[nodiscard]] Step words_of(const graph::Csr& graph, const HotTier* tier, const CompressedLists* compressed,
                            graph::Vertex v);
// Neighbours of each of a list's lines.
[[nodiscard]] std::vector<std::uint32_t> line_counts(const CompressedLists& lists, graph::Vertex v);
// How many neighbours of a list, which has some, its words within its first sector tell: the first one, and
// as many of the block after it as have all their bits there. 1 to 9. Of lists without weights.
[[nodiscard]] std::uint32_t first_sector_count(const CompressedLists& lists, graph::Vertex v);
// And its first two words: 1 or 2.
[[nodiscard]] std::uint32_t first_words_count(const CompressedLists& lists, graph::Vertex v);

struct Neighbours {
  std::vector<graph::Vertex> ids;
  std::vector<graph::Weight> weights;  // empty without
};
[[nodiscard]] Neighbours decompress(const CompressedLists& lists, graph::Vertex v);

}  // namespace grainscope::lean

#endif
