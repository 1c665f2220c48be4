#include "grainscope/graph/csr.hpp"

#include "grainscope/core/error.hpp"

namespace grainscope::graph {

void require_vertex(Vertex source, Vertex vertices) {
  if (source >= vertices) {
    throw UsageError("there is no vertex " + std::to_string(source) + " to start from: the graph has " +
                     std::to_string(vertices));
  }
}

}  // namespace grainscope::graph
