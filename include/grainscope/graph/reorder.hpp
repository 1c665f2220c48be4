#ifndef GRAINSCOPE_GRAPH_REORDER_HPP
#define GRAINSCOPE_GRAPH_REORDER_HPP

// Offline orders of vertices, for locality under paging: permutations new to old, for relabel().

#include <string>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

enum class Order { original, degree, halo_like };
[[nodiscard]] const char* name(Order order);

// degree: descending. Vertices of one degree go by which neighbour comes first in the order of falling
// degree, then by number, so that those of the same hub lie together; and once more by which comes first in
// the order that this makes. halo_like: a stand-in for HALO (VLDB 2020), whose code is not public: from
// `samples` GAP sources a bfs each, score = sum of 1 / (1 + depth) over those that reach a vertex, sorted
// descending, ties by number. All threads.
[[nodiscard]] std::vector<Vertex> order_of(const Csr& graph, Order order, int samples = 8);

}  // namespace grainscope::graph

#endif
