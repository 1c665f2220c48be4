// Edges to compressed sparse rows.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

Csr build_csr(EdgeList edges, const BuildOptions& options) {
  const bool weighted = !edges.weights.empty();
  std::vector<std::array<std::uint32_t, 3>> arcs;
  for (std::uint64_t i = 0; i < edges.from.size(); ++i) {
    const Vertex from = edges.from[i];
    const Vertex to = edges.to[i];
    if (from >= edges.vertices || to >= edges.vertices) {
      throw UsageError("edge " + std::to_string(i) + " from " + std::to_string(from) + " to " +
                       std::to_string(to) + ": the graph has " + std::to_string(edges.vertices) +
                       " vertices");
    }
    const Weight weight = weighted ? edges.weights[i] : 0;
    if (from != to) {
      arcs.push_back({from, to, weight});
      if (options.symmetrise) {
        arcs.push_back({to, from, weight});
      }
    }
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end(),
                         [](const auto& a, const auto& b) { return a[0] == b[0] && a[1] == b[1]; }),
             arcs.end());
  Csr graph;
  graph.directed = !options.symmetrise;
  graph.offsets = HostArray<Edge>(edges.vertices + 1);
  graph.targets = HostArray<Vertex>(arcs.size());
  graph.weights = HostArray<Weight>(weighted ? arcs.size() : 0);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    ++graph.offsets[arcs[i][0] + std::uint64_t{1}];
    graph.targets[i] = arcs[i][1];
    if (weighted) {
      graph.weights[i] = arcs[i][2];
    }
  }
  for (std::uint64_t v = 0; v < edges.vertices; ++v) {
    graph.offsets[v + 1] += graph.offsets[v];
  }
  return graph;
}

}  // namespace grainscope::graph
