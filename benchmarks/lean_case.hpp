#ifndef GRAINSCOPE_BENCHMARKS_LEAN_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_CASE_HPP

// One lean traversal, measured: trials from GAP's sources, each verified, and what each read over the link.

#include <optional>

#include "grainscope/lean/lean_bfs.hpp"
#include "harness/benchmark.hpp"
#include "loaded_graph.hpp"

namespace grainscope::harness {

struct LeanPoint {
  graph::GraphSpec spec;
  GraphKey graph;
  std::optional<lean::TierPolicy> tier;  // none: nothing is hot
  int hot = 0;                           // percent of the edge list in GPU memory
  int node = 0;                          // where host memory lies
  int gpu = 0;
  int trials = 8;
};

// Runs, verifies and counts. Throws FailedError for a wrong answer, and where the GPU's own count of what it
// read is not the model's.
[[nodiscard]] Measurement measure_lean_bfs(Session& session, const LeanPoint& point,
                                           const LoadedGraph& graph);
[[nodiscard]] Measurement measure_lean_sssp(Session& session, const LeanPoint& point,
                                            const LoadedGraph& graph);
[[nodiscard]] Measurement measure_lean_cc(Session& session, const LeanPoint& point, const LoadedGraph& graph);

}  // namespace grainscope::harness

#endif
