#ifndef GRAINSCOPE_SRC_GRAPH_PERMUTATION_HPP
#define GRAINSCOPE_SRC_GRAPH_PERMUTATION_HPP

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// 0 … size − 1 as `std::shuffle` with `std::mt19937(seed)` leaves them in libstdc++ since GCC 11, with any
// library. `size`: at most 2³¹.
[[nodiscard]] HostArray<Vertex> shuffled_identity(std::uint64_t size, std::uint32_t seed);

}  // namespace grainscope::graph

#endif
