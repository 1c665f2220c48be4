#ifndef GRAINSCOPE_GRAPH_FRONTIERS_HPP
#define GRAINSCOPE_GRAPH_FRONTIERS_HPP

// The algorithms as sequences of frontiers, level by level, on the CPU: what the model replays, and what a
// GPU's own sequence is compared with.

#include <functional>
#include <span>

#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {

enum class Algorithm { bfs, sssp, cc, pr };
[[nodiscard]] constexpr const char* name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return "bfs";
    case Algorithm::sssp:
      return "sssp";
    case Algorithm::cc:
      return "cc";
    case Algorithm::pr:
      return "pr";
  }
  return "?";
}

// A visit of one level: the active vertices, ascending, whose lists are read.
using LevelVisitor = std::function<void(std::span<const Vertex> active)>;

// Calls `visit` once a level, before the level's own work. Level-synchronous: what a level changes is seen by
// the next (a GPU's sssp and cc see some of it at once, and need fewer levels). `source` is not read by cc
// and pr. bfs: depth k in level k. sssp: vertices whose distance fell, Bellman and Ford. cc: vertices whose
// label fell, all at first; throws UsageError for a directed graph. pr: push of residuals above
// kRankTolerance / (2 V) until all that is left is below kRankTolerance. All threads.
void run_levels(const Csr& graph, Algorithm algorithm, Vertex source, const LevelVisitor& visit);

}  // namespace grainscope::graph

#endif
