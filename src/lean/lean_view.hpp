#ifndef GRAINSCOPE_SRC_LEAN_LEAN_VIEW_HPP
#define GRAINSCOPE_SRC_LEAN_LEAN_VIEW_HPP

// Lists as kernels read them, and what is placed behind them.

#include <cstdint>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/lean_bfs.hpp"

namespace grainscope::lean {

struct ListsView {
  const std::uint64_t* offsets = nullptr;      // [V + 1], device
  const std::uint32_t* targets = nullptr;      // [E], mapped host memory
  const std::uint32_t* hot_offsets = nullptr;  // [V + 1], device; null: nothing is hot
  const std::uint32_t* hot = nullptr;          // device
  // Of lists placed with weights that are not packed: [E], mapped host memory, and of the tier, device.
  const std::uint32_t* weights = nullptr;
  const std::uint32_t* hot_weights = nullptr;
  int vertex_bits = 32;  // of a target; above them is its weight, where there are fewer than 32
};

struct PlacedView {
  ListsView out;
  ListsView in;
  graph::Vertex vertices = 0;
  graph::Edge edges = 0;  // of the lists that are pushed
  bool weighted = false;
  std::uint64_t most_pieces = 0;  // that all long lists together are cut into, pushed over the link
};
// Of what place_lean made.
[[nodiscard]] const PlacedView& view_of(const LeanLists& lists);

}  // namespace grainscope::lean

#endif
