#ifndef GRAINSCOPE_SRC_GRAPH_REQUIRE_MEMORY_HPP
#define GRAINSCOPE_SRC_GRAPH_REQUIRE_MEMORY_HPP

#include "grainscope/core/host_array.hpp"

namespace grainscope::graph {

// Throws EnvironmentError unless so much host memory is to be had now. For what several arrays take together:
// each alone is asked about when it is made, but takes nothing before it is touched.
inline void require_memory(std::uint64_t bytes) {
  (void)HostBytes(bytes);
}

}  // namespace grainscope::graph

#endif
