#ifndef GRAINSCOPE_TESTS_RANDOM_EDGES_HPP
#define GRAINSCOPE_TESTS_RANDOM_EDGES_HPP

// Edge lists for tests, and the slow, obvious way from one to a graph.

#include <array>
#include <cstdint>
#include <vector>

#include "grainscope/graph/build.hpp"

namespace grainscope::graph {

using Triple = std::array<std::uint32_t, 3>;  // from, to, weight

[[nodiscard]] EdgeList edge_list(std::uint64_t vertices, const std::vector<Triple>& edges, bool weighted);

// `count` edges between vertices below `vertices`, weights 1..16. With `hubs` the ends crowd at low numbers.
[[nodiscard]] std::vector<Triple> random_edges(std::uint32_t vertices, std::size_t count, std::uint32_t seed,
                                               bool hubs);

// Every entry of a graph in order, weight 0 where it has none.
[[nodiscard]] std::vector<Triple> entries(const Csr& graph);
// Name, kind and entries.
void expect_same(const Csr& one, const Csr& other);
// What entries(build_csr(…)) must be, by a map.
[[nodiscard]] std::vector<Triple> expected_entries(const std::vector<Triple>& edges, bool symmetrise,
                                                   bool weighted);

}  // namespace grainscope::graph

#endif
