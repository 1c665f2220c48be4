#ifndef GRAINSCOPE_TESTS_GPU_GATHER_PROBE_HPP
#define GRAINSCOPE_TESTS_GPU_GATHER_PROBE_HPP

#include <memory>

#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

// A program of one level that walks every list. Its answer, for each vertex: how often it was visited, and
// 2^24 times how often its own list, or a part of it, was opened and not closed. That is its in-degree where
// every edge was handed out exactly once.
[[nodiscard]] std::unique_ptr<Traversal> make_in_degrees(const PlacedGraph& graph, Access access);

// Lets gathering blocks wait for a list that never gets done, and asks the board as a traversal does.
// Returns whether it threw FailedError, and does not when it is asked again.
[[nodiscard]] bool gives_up_waiting(double patience_s);

}  // namespace grainscope::graph

#endif
