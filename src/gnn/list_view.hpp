#ifndef GRAINSCOPE_SRC_GNN_LIST_VIEW_HPP
#define GRAINSCOPE_SRC_GNN_LIST_VIEW_HPP

#include "grainscope/gnn/gpu_sampling.hpp"

namespace grainscope::gnn {

// Adjacency lists as a kernel reads them. Entry e of the edge list is entry e / kPieceEntries / parts ·
// kPieceEntries + e mod kPieceEntries of part (e / kPieceEntries) mod parts.
struct ListView {
  const std::uint64_t* offsets = nullptr;         // [V + 1], device
  const graph::Vertex* parts_of[kMostGpus] = {};  // [parts], where placed
  int parts = 1;
  graph::Vertex vertices = 0;
  std::uint64_t edges = 0;
};

// Where an entry of the edge list lies.
struct EntryPlace {
  std::uint32_t part;
  std::uint64_t entry;
};
[[nodiscard]] constexpr EntryPlace place_of(std::uint64_t entry, std::uint32_t parts) {
  const std::uint64_t piece = entry / kPieceEntries;
  return {static_cast<std::uint32_t>(piece % parts), piece / parts * kPieceEntries + entry % kPieceEntries};
}

// Pieces of a list of `edges` entries that part `part` has, the last of all perhaps not whole.
[[nodiscard]] constexpr std::uint64_t pieces_of(std::uint64_t edges, std::uint64_t part,
                                                std::uint64_t parts) {
  const std::uint64_t pieces = (edges + kPieceEntries - 1) / kPieceEntries;
  return pieces > part ? (pieces - part - 1) / parts + 1 : 0;
}

// What every implementation of PlacedLists can give to kernels.
class ViewedLists : public PlacedLists {
 public:
  [[nodiscard]] const ListView& view() const noexcept { return view_; }

 protected:
  ListView view_;
};

}  // namespace grainscope::gnn

#endif
