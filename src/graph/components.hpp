#ifndef GRAINSCOPE_SRC_GRAPH_COMPONENTS_HPP
#define GRAINSCOPE_SRC_GRAPH_COMPONENTS_HPP

#include <span>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// The label that most of a sample of the edges' ends carry; labels are below V. A guess at which component
// is the largest, for who may leave its edges unread: a wrong guess costs time, nothing else.
[[nodiscard]] Vertex most_frequent_label(const Csr& graph, std::span<const Vertex> labels);

}  // namespace grainscope::graph

#endif
