#ifndef GRAINSCOPE_GRAPH_BUILD_HPP
#define GRAINSCOPE_GRAPH_BUILD_HPP

// From a list of edges to compressed sparse rows, by the conventions of the GAP benchmark suite.

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

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

// Integer weights low..high for a graph that has none, drawn by a hash of (smaller end, larger end, seed), so
// that both directions of an edge agree. EMOGI's papers use 8..72.
void draw_weights(Csr& graph, Weight low, Weight high, std::uint64_t seed);

// Throws FailedError, saying where, unless all that csr.hpp promises of a graph holds; undirected graphs are
// checked to be symmetric too.
void check_csr(const Csr& graph);

}  // namespace grainscope::graph

#endif
