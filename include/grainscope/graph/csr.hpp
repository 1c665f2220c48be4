#ifndef GRAINSCOPE_GRAPH_CSR_HPP
#define GRAINSCOPE_GRAPH_CSR_HPP

// A graph as everyone here reads it: compressed sparse rows in host memory.

#include <cstdint>
#include <span>
#include <string>

#include "grainscope/core/host_array.hpp"

namespace grainscope::graph {

// Vertices are counted in 32 bits, edges in 64: more than 2³² edges need no other type. How wide a neighbour
// is where a GPU reads it (4 or 8 bytes) is a choice of the benchmark, not of the graph.
using Vertex = std::uint32_t;
using Edge = std::uint64_t;  // the position of an adjacency entry
using Weight = std::uint32_t;

struct Csr {
  std::string name;           // as it stands in case names: "kron24", "power"
  bool directed = false;      // undirected: every edge is there in both directions
  HostArray<Edge> offsets;    // [V + 1], ascending from 0
  HostArray<Vertex> targets;  // [E] below V; each list ascending, without repeats or self-loops
  HostArray<Weight> weights;  // [E], or empty

  [[nodiscard]] Vertex vertices() const noexcept {
    return offsets.empty() ? 0 : static_cast<Vertex>(offsets.size() - 1);
  }
  // Adjacency entries: twice the edges of an undirected graph.
  [[nodiscard]] Edge edges() const noexcept { return targets.size(); }
  [[nodiscard]] bool weighted() const noexcept { return !weights.empty(); }
  [[nodiscard]] Edge degree(Vertex v) const noexcept { return offsets[v + std::uint64_t{1}] - offsets[v]; }
  [[nodiscard]] std::span<const Vertex> neighbours(Vertex v) const noexcept {
    return {targets.data() + offsets[v], degree(v)};
  }
  [[nodiscard]] std::span<const Weight> weights_of(Vertex v) const noexcept {
    return {weights.data() + offsets[v], degree(v)};
  }
};

// Throws UsageError for a vertex that a graph of so many does not have.
void require_vertex(Vertex source, Vertex vertices);

}  // namespace grainscope::graph

#endif
