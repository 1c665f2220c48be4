#ifndef GRAINSCOPE_TESTS_TESTING_SERIAL_ORACLES_HPP
#define GRAINSCOPE_TESTS_TESTING_SERIAL_ORACLES_HPP

#include <cstdint>
#include <vector>

#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"

// What the four algorithms answer, slow and obviously right.

namespace grainscope::graph {

[[nodiscard]] std::vector<std::uint32_t> serial_bfs(const Csr& graph, Vertex source);   // depths
[[nodiscard]] std::vector<std::uint32_t> serial_sssp(const Csr& graph, Vertex source);  // Dijkstra
// Each vertex's component by its lowest vertex. Throws UsageError for a directed graph, saying why.
[[nodiscard]] std::vector<Vertex> serial_cc(const Csr& graph);
// Ranks by power iteration (damping 0.85, teleport 0.15 / V, the mass of vertices without out-edges dropped)
// until one more step changes less than `tolerance` in the L1 norm.
[[nodiscard]] std::vector<double> serial_pr(const Csr& graph, double tolerance = kRankTolerance);

}  // namespace grainscope::graph

#endif
