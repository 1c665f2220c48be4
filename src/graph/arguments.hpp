#ifndef GRAINSCOPE_SRC_GRAPH_ARGUMENTS_HPP
#define GRAINSCOPE_SRC_GRAPH_ARGUMENTS_HPP

// What every algorithm asks of its arguments before it reads them.

#include <cstdint>
#include <string>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Throws UsageError for a source that is no vertex of the graph.
void require_source(const Csr& graph, Vertex source);
// Throws UsageError for a directed graph: `what` has no meaning there.
void require_undirected(const Csr& graph, const std::string& what);
// Throws UsageError for a graph without weights.
void require_weights(const Csr& graph, const std::string& what);
// Throws FailedError where an answer has not one entry a vertex.
void require_an_entry_each(const Csr& graph, std::uint64_t entries, const std::string& what);
// Throws UsageError unless `in_edges` can be what an edge's other end sees: as many vertices and entries.
void require_in_edges(const Csr& graph, const Csr& in_edges);

}  // namespace grainscope::graph

#endif
