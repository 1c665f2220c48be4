// The same graph under other numbers, and the other way round.

#include <algorithm>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"

namespace grainscope::graph {
namespace {

// Where each old vertex goes.
std::vector<Vertex> inverse_of(const Csr& graph, std::span<const Vertex> order) {
  if (order.size() != graph.vertices()) {
    throw UsageError("relabelling " + std::to_string(graph.vertices()) + " vertices by an order of " +
                     std::to_string(order.size()));
  }
  constexpr Vertex kFree = UINT32_MAX;
  std::vector<Vertex> inverse(order.size(), kFree);
  for (std::size_t v = 0; v < order.size(); ++v) {
    if (order[v] >= inverse.size() || inverse[order[v]] != kFree) {
      throw UsageError("relabelling by an order that is no permutation: entry " + std::to_string(v) + ", " +
                       std::to_string(order[v]) +
                       (order[v] >= inverse.size() ? ", is no vertex" : ", is repeated"));
    }
    inverse[order[v]] = static_cast<Vertex>(v);
  }
  return inverse;
}

EdgeList edges_of(const Csr& graph, bool turned) {
  EdgeList edges{graph.vertices(), HostArray<Vertex>(graph.edges()), HostArray<Vertex>(graph.edges()),
                 HostArray<Weight>(graph.weights.size())};
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      (turned ? edges.to : edges.from)[i] = static_cast<Vertex>(v);
      (turned ? edges.from : edges.to)[i] = graph.targets[i];
      if (graph.weighted()) {
        edges.weights[i] = graph.weights[i];
      }
    }
  }
  return edges;
}

}  // namespace

Csr transpose(const Csr& graph) {
  Csr turned = build_csr(edges_of(graph, true), {.symmetrise = false});
  turned.name = graph.name;
  turned.directed = graph.directed;
  return turned;
}

Csr relabel(const Csr& graph, std::span<const Vertex> order) {
  const std::vector<Vertex> inverse = inverse_of(graph, order);
  EdgeList edges = edges_of(graph, false);
#pragma omp parallel for
  for (std::uint64_t i = 0; i < graph.edges(); ++i) {
    edges.from[i] = inverse[edges.from[i]];
    edges.to[i] = inverse[edges.to[i]];
  }
  Csr result = build_csr(std::move(edges), {.symmetrise = false});
  result.name = graph.name;
  result.directed = graph.directed;
  return result;
}

}  // namespace grainscope::graph
