#ifndef GRAINSCOPE_SRC_GRAPH_INVERSE_ORDER_HPP
#define GRAINSCOPE_SRC_GRAPH_INVERSE_ORDER_HPP

#include <span>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Where each vertex stands in an order. Throws UsageError where that is no permutation. All threads.
[[nodiscard]] HostArray<Vertex> inverse_order(std::span<const Vertex> order);

}  // namespace grainscope::graph

#endif
