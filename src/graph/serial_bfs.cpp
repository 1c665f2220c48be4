// Breadth-first search with a queue: the depth of every vertex that is reached from a source.

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {

std::vector<std::uint32_t> serial_bfs(const Csr& graph, Vertex source) {
  require_source(graph, source);
  std::vector<std::uint32_t> depths(graph.vertices(), kUnreached);
  std::vector<Vertex> queue{source};
  depths[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Vertex v = queue[next];
    for (const Vertex u : graph.neighbours(v)) {
      if (depths[u] == kUnreached) {
        depths[u] = depths[v] + 1;
        queue.push_back(u);
      }
    }
  }
  return depths;
}

Edge entries_reached(const Csr& graph, std::span<const std::uint32_t> depths) {
  require_an_entry_each(graph, depths.size(), "bfs");
  Edge entries = 0;
#pragma omp parallel for reduction(+ : entries) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    entries += depths[v] == kUnreached ? 0 : graph.degree(v);
  }
  return entries;
}

}  // namespace grainscope::graph
