#ifndef GRAINSCOPE_GRAPH_CSR_HPP
#define GRAINSCOPE_GRAPH_CSR_HPP

// A graph as everyone here reads it, compressed sparse rows in host memory, and how it is built from a list
// of edges by the conventions of the GAP benchmark suite.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// Throws EnvironmentError unless so much host memory is to be had now. For what several arrays take together:
// each alone is asked about when it is made, but takes nothing before it is touched.
void require_memory(std::uint64_t bytes);

// From a list of edges to compressed sparse rows, by the conventions of the GAP benchmark suite.

// Edges as they come, in host memory: repeats, self-loops and any order are allowed.
struct EdgeList {
  std::uint64_t vertices = 0;  // every endpoint lies below; at most 2³² − 1
  HostArray<Vertex> from;      // [n]
  HostArray<Vertex> to;        // [n]
  HostArray<Weight> weights;   // [n], or empty
};

struct BuildOptions {
  bool symmetrise = true;  // both directions, each with the edge's weight; the graph is undirected then
};

// Sorts each list by (neighbour, weight), drops repeats (the lowest weight stays) and self-loops. Takes the
// list, and frees it as soon as it can. All threads. Throws UsageError for an endpoint that is not below
// `vertices`, EnvironmentError, with the numbers, where memory does not suffice.
[[nodiscard]] Csr build_csr(EdgeList edges, const BuildOptions& options);

// A graph's entries as a list, an edge each; the graph goes.
[[nodiscard]] EdgeList edges_of(Csr graph);

// The same edges the other way round: lists of in-neighbours. Of an undirected graph a copy.
[[nodiscard]] Csr transpose(const Csr& graph);

// The vertex v of the result is order[v] of the graph: `order` is a permutation (new to old). Lists are
// sorted again, weights go with their edges. Throws UsageError where it is none.
[[nodiscard]] Csr relabel(const Csr& graph, std::span<const Vertex> order);

// [V]: where each vertex stands in an order (old to new). Throws UsageError where that is no permutation. All
// threads.
[[nodiscard]] HostArray<Vertex> inverse_order(std::span<const Vertex> order);
// table[indices[i]] for each i; an index beyond the table stands for itself. All threads.
[[nodiscard]] std::vector<std::uint32_t> looked_up(std::span<const std::uint32_t> table,
                                                   std::span<const std::uint32_t> indices);

// Integer weights low..high for a graph that has none, drawn by a hash of (smaller end, larger end, seed), so
// that both directions of an edge agree. EMOGI's papers use 8..72.
void draw_weights(Csr& graph, Weight low, Weight high, std::uint64_t seed);

// Lists of vertices [first, last).
struct VertexRange {
  Vertex first = 0;
  Vertex last = 0;
  friend bool operator==(const VertexRange&, const VertexRange&) = default;
};

// What is alike in the parts into which vertices are divided.
enum class Division { edges, vertices };
inline constexpr Division kDivisions[] = {Division::edges, Division::vertices};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Division division) {
  return division == Division::edges ? "edges" : "vertices";
}

// Part `part` of `parts` of a graph's vertices, all of which together are each vertex once. Parts begin at
// multiples of 32 vertices; of small graphs some are empty. Throws UsageError where there is no such part.
[[nodiscard]] VertexRange range_of_part(const Csr& graph, Division division, int part, int parts);

// Throws FailedError, saying where, unless all that csr.hpp promises of a graph holds; undirected graphs are
// checked to be symmetric too.
void check_csr(const Csr& graph);

}  // namespace grainscope::graph

#endif
