#ifndef GRAINSCOPE_SRC_GRAPH_ALGORITHMS_HPP
#define GRAINSCOPE_SRC_GRAPH_ALGORITHMS_HPP

// One algorithm a file.

#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

[[nodiscard]] std::unique_ptr<Traversal> make_bfs(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_sssp(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_cc(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<Traversal> make_pr(const PlacedGraph& graph, Access access);

}  // namespace grainscope::graph

#endif
