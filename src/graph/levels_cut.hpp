#ifndef GRAINSCOPE_SRC_GRAPH_LEVELS_CUT_HPP
#define GRAINSCOPE_SRC_GRAPH_LEVELS_CUT_HPP

// Where a bfs certificate changes from reading out-edges to reading in-edges.

#include <cstdint>
#include <span>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// An edge can only skip a level if its ends lie two levels apart or more. Who reads all out-edges of the
// levels below `level` and all in-edges of those above level + 1 (and of what is not reached) sees every such
// edge: the lists of two neighbouring levels, and in most graphs of most vertices, need not be read.
inline constexpr std::uint64_t kAllLevels = UINT64_MAX;  // only out-edges are read

// The level for which the fewest entries are read.
[[nodiscard]] std::uint64_t cheapest_cut(const Csr& graph, const Csr& in_edges,
                                         std::span<const std::uint32_t> depths);

}  // namespace grainscope::graph

#endif
