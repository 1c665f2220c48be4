#ifndef GRAINSCOPE_SRC_GRAPH_FRONTIERS_PR_HPP
#define GRAINSCOPE_SRC_GRAPH_FRONTIERS_PR_HPP

#include "grainscope/graph/frontiers.hpp"

namespace grainscope::graph {

void pr_levels(const Csr& graph, const LevelVisitor& visit);

}  // namespace grainscope::graph

#endif
