#ifndef GRAINSCOPE_GRAPH_SWEEP_HPP
#define GRAINSCOPE_GRAPH_SWEEP_HPP

// Walking lists for nothing but their bytes: what a traversal's level could reach if it had no work to do.

#include <cstdint>
#include <memory>
#include <span>

#include "grainscope/core/operation.hpp"
#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

// Timed is one kernel, between two events, that reads the lists of `active` (ascending, host memory) as the
// access walks them; finding the work items is not timed. Each neighbour is added up, and the sum checked
// after each sample. `expected`: sum of all neighbours in these lists. Throws as make_traversal. `graph`
// outlives it.
[[nodiscard]] std::unique_ptr<Operation> make_sweep(const PlacedGraph& graph, Access access,
                                                    std::span<const Vertex> active, std::uint64_t expected);

}  // namespace grainscope::graph

#endif
