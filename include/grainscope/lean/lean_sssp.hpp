#ifndef GRAINSCOPE_LEAN_LEAN_SSSP_HPP
#define GRAINSCOPE_LEAN_LEAN_SSSP_HPP

// Shortest paths by near and far (Davidson, Baxter, Garland and Owens, IPDPS 2014): of the vertices whose
// distance has fallen only those below a threshold have their lists read; when there are none, the threshold
// rises. So a list is seldom read before its vertex's distance is final. A weight shares the four bytes of
// its neighbour where both fit. All of it is one kernel whose blocks are on the GPU together.

#include <cstdint>
#include <memory>
#include <vector>

#include "grainscope/lean/hybrid.hpp"
#include "grainscope/lean/lean_bfs.hpp"

namespace grainscope::lean {

// Whether every neighbour fits into four bytes together with its weight, which has the bits above it.
[[nodiscard]] bool packs_weights(const graph::Csr& graph);
// Bits of the highest vertex.
[[nodiscard]] int vertex_bits(const graph::Csr& graph);
// The lowest weight and the highest; of no weights 0 and 0.
struct WeightBounds {
  graph::Weight least = 0;
  graph::Weight most = 0;
};
[[nodiscard]] WeightBounds weight_bounds(const graph::Csr& graph);

// The first threshold and what it rises by, where nothing else is known: a twelfth of the mean weight, below
// which lists are read little more than once and above which many more than that (docs/lean.md).
[[nodiscard]] std::uint32_t usual_delta(const graph::Csr& graph);

// Distances fall while lists are read, in no fixed order, so that a run that counts may read a little more or
// less than one that is timed. `lists`, placed with weights, outlives it. Throws UsageError for lists without
// weights or a delta of 0; SkipError where the GPU has no room for the state, with the numbers, or cannot
// launch blocks that wait for each other; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<LeanTraversal> make_lean_sssp(const LeanLists& lists, std::uint32_t delta);
// The same by segments that are read or copied, step by step, as these costs say: the host asks what a step
// wants and submits its kernels. Throws SkipError also for weights in an array of their own.
[[nodiscard]] std::unique_ptr<LeanTraversal> make_hybrid_sssp(const LeanLists& lists, std::uint32_t delta,
                                                              const LinkCosts& costs);

}  // namespace grainscope::lean

#endif
