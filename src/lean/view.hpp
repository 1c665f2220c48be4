#ifndef GRAINSCOPE_SRC_LEAN_VIEW_HPP
#define GRAINSCOPE_SRC_LEAN_VIEW_HPP

// Lists as kernels read them, and what is placed behind them.

#include <cstdint>
#include <vector>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {

// How lists lie behind the link.
enum class Coding {
  plain,                // four bytes a neighbour
  joined,               // and its weight in the same four
  beside,               // and its weight in another array
  compressed,           // as lists.hpp says
  compressed_weighted,  // the same, with weights
};
[[nodiscard]] constexpr bool is_compressed(Coding coding) {
  return coding == Coding::compressed || coding == Coding::compressed_weighted;
}

struct ListsView {
  Coding coding = Coding::plain;
  const std::uint64_t* offsets = nullptr;  // [V + 1], device: of all neighbours, hot ones too
  const std::uint32_t* words = nullptr;    // mapped host memory: [E] neighbours, or compressed lines
  // Where each segment of these lies in this step, device; null: all where they are.
  const std::uint32_t* const* segments = nullptr;
  const ListPlace* places = nullptr;           // [V], device; of compressed lists
  const std::uint32_t* firsts = nullptr;       // mapped host memory, as lists.hpp says; or null
  const FirstsBlock* first_blocks = nullptr;   // [blocks], device; null: these are plain
  const std::uint32_t* weights = nullptr;      // [E], mapped host memory, beside; or null
  const std::uint32_t* hot_offsets = nullptr;  // [V + 1], device; null: nothing is hot
  const std::uint32_t* hot = nullptr;          // device; neighbours, plain or with their weights joined
  const std::uint32_t* hot_weights = nullptr;  // device; null where they are joined, or there are none
  int joined_bits = 32;                        // of a neighbour, with its weight above them where joined
  int id_bits = 0;                             // of compressed lists
  WeightCode weight_code;                      // the same
};

struct PlacedView {
  ListsView out;
  ListsView in;
  graph::Vertex vertices = 0;
  graph::Vertex lists_end = 0;  // from here on no vertex has a list that is pushed
  graph::Edge edges = 0;        // of the lists that are pushed
  bool weighted = false;
  std::uint64_t most_pieces = 0;  // that are handed out at a time, of a direction
  ListPhases phases;              // of the lists that are pushed
};
// Of what place_lean made.
[[nodiscard]] const PlacedView& view_of(const LeanLists& lists);

// One direction's words, and which lists begin in which segment of them.
struct PlacedSegments {
  const std::uint32_t* host = nullptr;
  const std::uint32_t* device = nullptr;  // the same
  std::uint64_t words = 0;
  // [segments + 1]: the first vertex whose list begins in a segment or behind it; last of all V.
  std::vector<graph::Vertex> first_vertex;
};
// Of the lists that are pushed, or pulled from.
[[nodiscard]] const PlacedSegments& pushed_segments(const LeanLists& lists);
[[nodiscard]] const PlacedSegments& pulled_segments(const LeanLists& lists);

// How many pieces of long lists are handed out in a step at most: what there must be room for.

// Pieces of one list, hot and cold, where lists of more than `longer` words are cut.
[[nodiscard]] std::uint64_t pieces_of_list(const graph::Csr& lists, const HotTier* tier,
                                           const CompressedLists* compressed, graph::Vertex vertex,
                                           std::uint64_t longer);

// Of any set of lists: those of all, or of the few (kFewLists) that are cut into most. `tier`, `compressed`:
// null where there are none. All threads.
[[nodiscard]] std::uint64_t most_pieces(const graph::Csr& lists, const HotTier* tier,
                                        const CompressedLists* compressed);

}  // namespace grainscope::lean

#endif
