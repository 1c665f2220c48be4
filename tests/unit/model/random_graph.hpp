#ifndef GRAINSCOPE_TESTS_RANDOM_GRAPH_HPP
#define GRAINSCOPE_TESTS_RANDOM_GRAPH_HPP

// Graphs for the model, which reads where lists begin and never what is in them.

#include <cstdint>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::model {

// Vertex v has degrees[v] entries, all of them 0.
[[nodiscard]] graph::Csr graph_of(const std::vector<graph::Edge>& degrees);

// Degrees at random: none for a quarter of the vertices, else up to 40, now and then up to 2000.
[[nodiscard]] graph::Csr random_graph(graph::Vertex vertices, std::uint32_t seed);

// About `percent` of the vertices, ascending.
[[nodiscard]] std::vector<graph::Vertex> random_frontier(graph::Vertex vertices, int percent,
                                                         std::uint32_t seed);

[[nodiscard]] std::vector<graph::Vertex> all_vertices(const graph::Csr& graph);

}  // namespace grainscope::model

#endif
