#ifndef GRAINSCOPE_TESTS_GPU_PROBES_HPP
#define GRAINSCOPE_TESTS_GPU_PROBES_HPP

// Kernels of the tests' own: what a gather loads, walks over lists, and a store that takes the GPU from
// its process.

#include <memory>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::graph {

// A program of one level that walks every list. Its answer, for each vertex: how often it was visited, and
// 2^24 times how often its own list, or a part of it, was opened and not closed. That is its in-degree where
// every edge was handed out exactly once.
[[nodiscard]] std::unique_ptr<Traversal> make_in_degrees(const PlacedGraph& graph, Access access);

// Lets gathering blocks wait for a list that never gets done, and asks the board as a traversal does.
// Returns whether it threw FailedError, and does not when it is asked again.
[[nodiscard]] bool gives_up_waiting(double patience_s);

}  // namespace grainscope::graph

namespace grainscope::lean {

// What kernels find when they walk over every list that is pushed: neighbours, in order, with their weights,
// which are 0 of lists that are placed without.
[[nodiscard]] std::vector<Neighbours> walk_all_lists(const LeanLists& lists, const graph::Csr& graph);

}  // namespace grainscope::lean

namespace grainscope {

// Enqueues a kernel that writes to an address that nothing is mapped at. Once it has run, this process can
// no longer use the GPU: only for a process of its own.
void enqueue_illegal_store(const cuda::Stream& stream);

}  // namespace grainscope

#endif
