#ifndef GRAINSCOPE_SRC_GRAPH_GENERATORS_HPP
#define GRAINSCOPE_SRC_GRAPH_GENERATORS_HPP

// The kinds of generated edges. Each gives degree × 2^scale edges, without weights, for scales 1 to 31.

#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

inline constexpr std::uint32_t kGapSeed = 27491095;

// degree × 2^scale edges between 2^scale vertices, whose ends are not set. Throws EnvironmentError where
// there is no memory for them.
[[nodiscard]] EdgeList unfilled_list(int scale, int degree);

[[nodiscard]] EdgeList kron_edges(int scale, int degree);
[[nodiscard]] EdgeList urand_edges(int scale, int degree);
[[nodiscard]] EdgeList dense_edges(int scale, int degree);
[[nodiscard]] EdgeList web_edges(int scale, int degree);
[[nodiscard]] EdgeList pareto_edges(int scale, int degree);

// GAP's weights 1 … 255 for edges in the order of the list.
void add_gap_weights(EdgeList& edges);

}  // namespace grainscope::graph

#endif
