// Connected components by one breadth-first search after another, from the lowest vertex not yet labelled.

#include "arguments.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {

std::vector<Vertex> serial_cc(const Csr& graph) {
  require_undirected(graph, "cc");
  constexpr Vertex kNone = 0xffffffffU;
  std::vector<Vertex> labels(graph.vertices(), kNone);
  std::vector<Vertex> queue;
  for (Vertex lowest = 0; lowest < graph.vertices(); ++lowest) {
    if (labels[lowest] != kNone) {
      continue;
    }
    labels[lowest] = lowest;
    queue.assign(1, lowest);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const Vertex u : graph.neighbours(queue[next])) {
        if (labels[u] == kNone) {
          labels[u] = lowest;
          queue.push_back(u);
        }
      }
    }
  }
  return labels;
}

}  // namespace grainscope::graph
