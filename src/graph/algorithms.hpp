#ifndef GRAINSCOPE_SRC_GRAPH_ALGORITHMS_HPP
#define GRAINSCOPE_SRC_GRAPH_ALGORITHMS_HPP

// One algorithm a file.

#include "grainscope/graph/subway.hpp"
#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

[[nodiscard]] std::unique_ptr<WalkingTraversal> make_bfs(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<WalkingTraversal> make_sssp(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<WalkingTraversal> make_cc(const PlacedGraph& graph, Access access);
[[nodiscard]] std::unique_ptr<WalkingTraversal> make_pr(const PlacedGraph& graph, Access access);

// The same over compacted copies.
[[nodiscard]] std::unique_ptr<SubwayTraversal> make_bfs_subway(const Csr& graph,
                                                               const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<SubwayTraversal> make_sssp_subway(const Csr& graph,
                                                                const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<SubwayTraversal> make_cc_subway(const Csr& graph, const SubwayRequest& request);
[[nodiscard]] std::unique_ptr<SubwayTraversal> make_pr_subway(const Csr& graph, const SubwayRequest& request);

}  // namespace grainscope::graph

#endif
