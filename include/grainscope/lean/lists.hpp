#ifndef GRAINSCOPE_LEAN_LISTS_HPP
#define GRAINSCOPE_LEAN_LISTS_HPP

// How lean traversals read adjacency lists of 4-byte neighbours: the one description that kernels run and the
// model counts.
//
// Push reads whole lists, pull reads a list from its beginning and stops at the first neighbour that answers.
// The beginning of a list may lie in GPU memory; what follows is read over the link: push in
// pieces of 256 elements, or 64 where few lists are read, between boundaries of 128 bytes; pull first up to
// the next boundary of 32 bytes, eight lanes a list, then up to the next boundary of 128, and from there line
// by line, a warp a list.
// First neighbours of lists of which nothing is hot may lie side by side as well, in an array of their own:
// there pull looks before it looks at lists, a warp at those of 32 vertices together, and components join
// them. Elements are numbered in the edge array, which begins at a boundary of 128 bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

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

// Which beginnings of adjacency lists are kept in GPU memory, the rest being read over the link: the same
// idea as a feature table's hot rows, with lists for rows.

enum class TierPolicy {
  heads,  // the same number of first neighbours of every list
  lists,  // whole lists, the longest first
  reuse,  // beginnings that traversals were seen to read most often
};
inline constexpr TierPolicy kAllTierPolicies[] = {TierPolicy::heads, TierPolicy::lists, TierPolicy::reuse};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(TierPolicy policy) {
  switch (policy) {
    case TierPolicy::heads:
      return "heads";
    case TierPolicy::lists:
      return "lists";
    case TierPolicy::reuse:
      return "reuse";
  }
  return "?";
}

// List v has its first offsets[v + 1] − offsets[v] neighbours in the tier.
struct HotTier {
  HostArray<std::uint32_t> offsets;  // [V + 1]; empty: nothing is hot
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return offsets.empty() ? 0 : offsets[offsets.size() - 1];
  }
  [[nodiscard]] std::uint64_t of(graph::Vertex v) const noexcept {
    return offsets.empty() ? 0 : offsets[v + std::uint64_t{1}] - offsets[v];
  }
};

// Fills `elements` of the tier, or all there are, but never more than 2³² − 1. `heads`: every list its first
// k neighbours, and one more for the first lists as far as that goes. `lists`: in the order of the vertices
// where that is by falling degree, ties and all; the last one that does not fit is kept in part. All threads.
// Throws UsageError for `reuse`, which plan_by_reuse is for.
[[nodiscard]] HotTier plan_tier(const graph::Csr& graph, TierPolicy policy, std::uint64_t elements);

// Lists that have neighbours, none of them hot; `tier`: null: none of any. All threads.
[[nodiscard]] std::uint64_t cold_lists(const graph::Csr& graph, const HotTier* tier);

// How often each sector's worth of a list was read in sample runs: a list is read from its beginning, so
// counts never rise along it. List v has its counts from sectors_before(v) on, ceil(degree / 8) of them.
struct ReadCounts {
  HostArray<std::uint64_t> before;  // [V + 1]
  HostArray<std::uint16_t> counts;  // [before[V]], saturating
};
[[nodiscard]] ReadCounts no_reads(const graph::Csr& graph);
// The most often read sectors, lists' beginnings first among those read equally often.
[[nodiscard]] HotTier plan_by_reuse(const graph::Csr& graph, const ReadCounts& reads, std::uint64_t elements);

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

// The first neighbours of all lists of which nothing is hot, side by side. Those of 32 vertices, which a warp
// looks at together, are a block.
//
// Plain they take four bytes each. Packed, the lowest of a block is told with the block's place, and each
// takes one, two or four bytes for how much higher it is, whatever the highest needs, or none where all are
// the same: where vertices of one degree go by their first neighbours, as graph::Order::degree has them,
// mostly one. Every block begins with a sector of 32 bytes. What stands for another vertex means nothing.

// Where a block's words are, and what is in them.
class FirstsBlock {
 public:
  constexpr FirstsBlock() = default;
  // `bytes`: of each, 0, 1, 2 or 4; `begin`: a multiple of eight words, below 2^33.
  constexpr FirstsBlock(graph::Vertex lowest, std::uint32_t bytes, std::uint64_t begin)
      : bits_(lowest | std::uint64_t{bytes == 4 ? 3 : bytes} << kBytesAt |
              begin / kSectorElements << kBeginAt) {}
  // Of lists that are plain, the one of vertices from 32 * `block` on.
  static constexpr FirstsBlock plain(std::uint64_t block) { return {0, 4, block * kWarpLanes}; }

  [[nodiscard]] constexpr graph::Vertex lowest() const { return static_cast<graph::Vertex>(bits_); }
  [[nodiscard]] constexpr std::uint32_t bytes() const {
    const auto code = static_cast<std::uint32_t>(bits_ >> kBytesAt & 3);
    return code == 3 ? 4 : code;
  }
  // Words from here to there have it all.
  [[nodiscard]] constexpr Step words() const {
    const std::uint64_t begin = (bits_ >> kBeginAt) * kSectorElements;
    return {begin, begin + bytes() * kWarpLanes / 4};
  }
  // The word that tells the first neighbour of vertex `lane` of 32, where there are any.
  [[nodiscard]] constexpr std::uint64_t word_of(std::uint32_t lane) const {
    return words().from + lane * bytes() / 4;
  }
  // Which that is, and how it stands in its word.
  [[nodiscard]] constexpr graph::Vertex of(std::uint32_t lane, std::uint32_t word) const {
    return lowest() + (word >> shift(lane) & mask());
  }
  [[nodiscard]] constexpr std::uint32_t placed(std::uint32_t lane, graph::Vertex first) const {
    return (first - lowest()) << shift(lane);
  }

 private:
  [[nodiscard]] constexpr std::uint32_t shift(std::uint32_t lane) const { return lane * bytes() % 4 * 8; }
  [[nodiscard]] constexpr std::uint32_t mask() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << bytes() * 8) - 1);
  }
  static constexpr int kBytesAt = 32;
  static constexpr int kBeginAt = 34;
  std::uint64_t bits_ = 0;
};

struct Firsts {
  std::uint64_t lists = 0;         // that they are of
  HostArray<FirstsBlock> blocks;   // packed, those of all vertices; plain: none
  HostArray<std::uint32_t> words;  // whole blocks
  [[nodiscard]] bool packed() const { return !blocks.empty(); }
  [[nodiscard]] FirstsBlock block(std::uint64_t i) const {
    return packed() ? blocks[i] : FirstsBlock::plain(i);
  }
  // Of a vertex that has neighbours, none of them hot.
  [[nodiscard]] graph::Vertex of(graph::Vertex v) const;
};

// `tier`: null: nothing is hot. All threads.
[[nodiscard]] Firsts first_neighbours(const graph::Csr& lists, const HotTier* tier, bool packed);

// How many lists connected components read to the end before they sample. A line of 128 bytes is a request,
// and so is a sample where no other vertex's lies in the same line; what a line joins to the largest part
// need not be sampled. Lists are read phase by phase, each as many lines as all before it; joins are counted,
// and how many parts there were before and after does not depend on who joined first.
//
// First neighbours are joined before any phase, hot ones and those side by side: into one part, or into
// trees, a hub and those whose first neighbour it is. Of a hub's list nearly everybody is in its tree
// already; so the phases begin behind those lists that have most vertices' first neighbours.

// They end with as many lines as there are lists: so many lines cannot join that many parts.
inline constexpr int kListPhases = 9;
inline constexpr std::uint64_t kFewestLines = 1024;  // of a phase: fewer are not worth two launches
// Requests for samples that a line of the phase before has saved, since the next ones join a third of that or
// less, and that are left for a line of this one, since it saves some of them only.
inline constexpr std::uint64_t kSavedPerLine = 3;
inline constexpr std::uint64_t kLeftPerLine = 2;

// Vertices with a list. All threads.
[[nodiscard]] std::uint64_t vertices_listed(const graph::Csr& graph);

struct ListPhases {
  std::uint64_t listed = 0;  // vertices with a list
  std::uint64_t mean_list = 0;
  // Vertices with a list that their first neighbours leave outside of the largest part, as 1024 of them tell,
  // evenly spread.
  std::uint64_t outside = 0;
  // Phase p reads the lists [begins[p], begins[p + 1]), and `lines` over the link. Sooner or later a phase is
  // empty.
  std::array<graph::Vertex, kListPhases + 1> begins{};
  std::array<std::uint64_t, kListPhases> lines{};
  std::array<std::uint64_t, kListPhases>
      entries{};  // neighbours in the lists, without hot ones joined before
  // Requests that sample the last 2^i vertices with a list, which have the shortest; past the first as for
  // those that there are.
  std::array<std::uint64_t, 33> samples{};

  // That sample so many vertices, the last ones: what is not joined early has few neighbours.
  [[nodiscard]] constexpr std::uint64_t requests(std::uint64_t vertices) const {
    if (vertices == 0) {
      return 0;
    }
    // Not std::bit_width: on a GPU it is 0, since nvcc drops the compiler's own function in it silently.
    std::size_t power = 0;
    for (std::size_t step = 16; step > 0; step /= 2) {
      power += vertices >> (power + step) > 0 ? step : 0;
    }
    const std::uint64_t more = vertices - (std::uint64_t{1} << power);
    return samples[power] + ((samples[power + 1] - samples[power]) * more >> power);
  }
};

// Of an undirected graph. `tier`: null: nothing is hot; `compressed`: of what is not; null: four bytes a
// neighbour. First neighbours are taken for joined, hot or side by side; where they are neither, components
// are right, but more is read. Throws UsageError for a directed graph.
[[nodiscard]] ListPhases list_phases(const graph::Csr& graph, const HotTier* tier,
                                     const CompressedLists* compressed);

// Vertices with a list that are expected outside of the largest part before a phase, by joins so far:
// `joined[0]` before any phase, `joined[p + 1]` by phase p; 0 of one that was not.
[[nodiscard]] constexpr std::uint64_t outside_before(const ListPhases& phases, int phase,
                                                     const unsigned long long* joined) {
  const auto p = static_cast<std::size_t>(phase);
  if (p == 0) {
    // More than first neighbours may have been hot: a part is no more than a list in the mean, and its hub.
    const std::uint64_t parts = phases.listed - joined[0];
    const std::uint64_t most = parts * (phases.mean_list + 1);
    return most < phases.outside ? most : phases.outside;
  }
  // Whoever of a phase's neighbours made a join was outside: in the mean over the phase as many of all. At
  // its end, with twice as many neighbours read as at its begin, half of that: a tree is missed by all of
  // them the less likely the larger it is, and sizes are many.
  const std::uint64_t entries = phases.entries[p - 1];
  return entries > 0 ? phases.listed * joined[p] / (2 * entries) : 0;
}

// Whether a phase is worth its lines.
[[nodiscard]] constexpr bool phase_pays(const ListPhases& phases, int phase,
                                        const unsigned long long* joined) {
  const auto p = static_cast<std::size_t>(phase);
  const std::uint64_t left = phases.requests(outside_before(phases, phase, joined));
  return phases.lines[p] > 0 && left >= kLeftPerLine * phases.lines[p] &&
         (p == 0 || phases.requests(outside_before(phases, phase - 1, joined)) >=
                        left + kSavedPerLine * phases.lines[p - 1]);
}

}  // namespace grainscope::lean

#endif
