#ifndef GRAINSCOPE_MODEL_LEAN_SSSP_HPP
#define GRAINSCOPE_MODEL_LEAN_SSSP_HPP

// What shortest paths by near and far ask of the link, step by step. Here what a step changes is seen by the
// next; on a GPU some of it is seen at once, so that it may read a little less.

#include <cstdint>
#include <vector>

#include "grainscope/graph/frontiers.hpp"
#include "grainscope/model/lean_bfs.hpp"

namespace grainscope::model {

struct LeanSsspStep {
  std::uint64_t active = 0;     // vertices whose lists are read
  std::uint64_t edges = 0;      // in these
  std::uint64_t hot_reads = 0;  // neighbours read from GPU memory
  Requests link;                // and of weights that are not packed; `elements`: neighbours
};

struct LeanSssp {
  std::vector<std::uint32_t> distances;  // [V]
  std::vector<LeanSsspStep> steps;
  [[nodiscard]] Requests total() const;
};

// Of lists with weights, packed where they can be. `visit`, where there is one, is told each step's vertices,
// ascending. Throws UsageError for a source that is no vertex, lists without weights or a delta of 0.
[[nodiscard]] LeanSssp replay_sssp(const TieredLists& lists, graph::Vertex source, std::uint32_t delta,
                                   const graph::LevelVisitor& visit = {});

}  // namespace grainscope::model

#endif
