#ifndef GRAINSCOPE_SRC_GRAPH_WIDEN_HPP
#define GRAINSCOPE_SRC_GRAPH_WIDEN_HPP

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Neighbours of 4 bytes to such of 8, both in device memory of the current GPU: [count]. Has ended on return.
void widen_on_gpu(const Vertex* from, std::uint64_t* to, std::uint64_t count);

}  // namespace grainscope::graph

#endif
