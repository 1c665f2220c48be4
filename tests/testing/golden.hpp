#ifndef GRAINSCOPE_TESTS_TESTING_GOLDEN_HPP
#define GRAINSCOPE_TESTS_TESTING_GOLDEN_HPP

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "grainscope/graph/generate.hpp"

namespace grainscope {

// SHA-256 (FIPS 180-4) of some bytes, in 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);

}  // namespace grainscope

// What GAP's own generator and serial programs gave: tests/unit/fixtures/golden_graphs.json, whose `about`
// says how the values were made.

namespace grainscope::graph {

struct GoldenGraph {
  GraphSpec spec;
  nlohmann::json values;  // vertices, adjacency_entries, sources, bfs_sssp, pagerank, …_sha256
};

// All of the file, or those up to a scale.
[[nodiscard]] std::vector<GoldenGraph> golden_graphs(int largest_scale = 31);

}  // namespace grainscope::graph

#endif
