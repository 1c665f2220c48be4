#include <utility>

#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

EdgeList edges_of(Csr graph) {
  EdgeList edges;
  edges.vertices = graph.vertices();
  edges.from = HostArray<Vertex>(graph.edges());
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      edges.from[i] = static_cast<Vertex>(v);
    }
  }
  edges.to = std::move(graph.targets);
  edges.weights = std::move(graph.weights);
  return edges;
}

}  // namespace grainscope::graph
