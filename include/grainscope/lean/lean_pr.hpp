#ifndef GRAINSCOPE_LEAN_LEAN_PR_HPP
#define GRAINSCOPE_LEAN_LEAN_PR_HPP

// PageRank by pulling: every sweep reads each list once, and a vertex's new rank is there for those that come
// after it (Gauss and Seidel's way, without an order among the warps). It begins near the answer, with what
// one step would give if every edge carried the same, and where no rank is lost (undirected graphs) it puts
// the sum of all ranks right after each sweep: fewer sweeps than steps from the even rank. damping 0.85,
// teleport 0.15 / V, to GAP's 1e-4.

#include <memory>

#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/hybrid.hpp"
#include "grainscope/lean/lean_bfs.hpp"

namespace grainscope::lean {

// Of what a sweep changed in all, |new - old|, and the factor that it was put right by: no more than that one
// more step would change, in the L1 norm. A rank that is read before it changes is missed by each edge at
// most once, and all edges of a vertex carry no more than damping times its change; the factor scales that,
// and adds its own part of the teleport, of which the ranked vertices have `ranked` / V.
[[nodiscard]] constexpr double rank_bound(double changed, double factor, double ranked_share) {
  const double off = factor > 1 ? factor - 1 : 1 - factor;
  return factor * graph::kDamping * changed + off * (1 - graph::kDamping) * ranked_share;
}
// Single precision rounds: what is measured must lie below the tolerance with room.
inline constexpr double kRankGoal = 0.9 * graph::kRankTolerance;
inline constexpr std::uint32_t kMostSweeps = 1000;

// Its steps are sweeps, all of which read the same.
// `lists` outlives it. Throws UsageError for lists that are placed with weights, or a graph without vertices;
// SkipError where the GPU has no room for the state, with the numbers, or cannot launch blocks that wait for
// each other; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<LeanTraversal> make_lean_pr(const LeanLists& lists);
// The same by segments that are read or copied as these costs say, the host submitting each sweep's kernels.
[[nodiscard]] std::unique_ptr<LeanTraversal> make_hybrid_pr(const LeanLists& lists, const LinkCosts& costs);

}  // namespace grainscope::lean

#endif
