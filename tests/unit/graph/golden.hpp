#ifndef GRAINSCOPE_TESTS_GOLDEN_HPP
#define GRAINSCOPE_TESTS_GOLDEN_HPP

// What GAP's own generator and serial programs gave: tests/unit/fixtures/golden_graphs.json, whose `about`
// says how the values were made.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grainscope/graph/generate.hpp"

namespace grainscope::graph {

struct GoldenGraph {
  GraphSpec spec;
  nlohmann::json values;  // vertices, adjacency_entries, sources, bfs_sssp, pagerank, …_sha256
};

// All of the file, or those up to a scale.
[[nodiscard]] std::vector<GoldenGraph> golden_graphs(int largest_scale = 31);

}  // namespace grainscope::graph

#endif
