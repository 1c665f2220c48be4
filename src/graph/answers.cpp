// What every algorithm asks of its arguments, and what a search has reached.

#include "answers.hpp"

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "parallel.hpp"

namespace grainscope::graph {

void require_source(const Csr& graph, Vertex source) {
  if (source >= graph.vertices()) {
    throw UsageError("graph " + graph.name + " has no vertex " + std::to_string(source) + ": it has " +
                     std::to_string(graph.vertices()) + " vertices, counted from 0");
  }
}

void require_undirected(const Csr& graph, const std::string& what) {
  if (graph.directed) {
    throw UsageError(what + " is for undirected graphs, and " + graph.name +
                     " is directed: labels that follow edges one way would not be components");
  }
}

void require_weights(const Csr& graph, const std::string& what) {
  if (!graph.weighted() && graph.edges() != 0) {
    throw UsageError(what + " needs weights, and graph " + graph.name + " has none");
  }
}

void require_an_entry_each(const Csr& graph, std::uint64_t entries, const std::string& what) {
  if (entries != graph.vertices()) {
    throw FailedError(what + ": " + std::to_string(entries) + " entries for the " +
                      std::to_string(graph.vertices()) + " vertices of graph " + graph.name);
  }
}

void require_in_edges(const Csr& graph, const Csr& in_edges) {
  if (in_edges.vertices() != graph.vertices() || in_edges.edges() != graph.edges()) {
    throw UsageError("the in-edges of graph " + graph.name + " are " + std::to_string(in_edges.edges()) +
                     " entries of " + std::to_string(in_edges.vertices()) + " vertices, its out-edges " +
                     std::to_string(graph.edges()) + " of " + std::to_string(graph.vertices()));
  }
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
