#ifndef GRAINSCOPE_BENCHMARKS_LEAN_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_CASE_HPP

// One lean traversal, measured: trials, each verified, and what each read over the link.

#include <cstdint>
#include <optional>

#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lists.hpp"
#include "harness/benchmark.hpp"
#include "loaded_graph.hpp"

namespace grainscope::harness {

// GPU memory for edges.
struct HotBudget {
  int percent = 0;          // of the edge list
  std::uint64_t bytes = 0;  // or so many, with all that hot edges bring along; 0: `percent` tells
  const char* given_by = "--hot-budget";  // what said how many bytes

  // Of the GPU, where the edge list takes `edges`.
  [[nodiscard]] std::uint64_t most_bytes(std::uint64_t edges) const {
    return bytes > 0 ? bytes : edges * static_cast<std::uint64_t>(percent) / 100;
  }
};

struct LeanPoint {
  graph::GraphSpec spec;
  GraphKey graph;
  graph::Algorithm algorithm = graph::Algorithm::bfs;
  std::optional<lean::TierPolicy> tier;  // none: nothing is hot
  HotBudget hot;
  bool compressed = false;  // what is not hot
  bool hybrid = false;      // segments are copied where that is faster; of pr and sssp
  int node = 0;             // where host memory lies
  int gpu = 0;
  int trials = 8;
};

// Throws FailedError for a wrong answer, and where the GPU's own count of what it read is not the model's.
[[nodiscard]] Measurement measure_lean(Session& session, const LeanPoint& point, const LoadedGraph& graph);

}  // namespace grainscope::harness

#endif
