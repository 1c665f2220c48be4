#ifndef GRAINSCOPE_LEAN_HOT_TIER_HPP
#define GRAINSCOPE_LEAN_HOT_TIER_HPP

// Which beginnings of adjacency lists are kept in GPU memory, the rest being read over the link: the same
// idea as a feature table's hot rows, with lists for rows.

#include <cstdint>
#include <span>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::lean {

enum class TierPolicy {
  heads,  // the same number of first neighbours of every list
  lists,  // whole lists, the longest first
  reuse,  // beginnings that traversals were seen to read most often
};
inline constexpr TierPolicy kAllTierPolicies[] = {TierPolicy::heads, TierPolicy::lists, TierPolicy::reuse};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(TierPolicy policy) {
  switch (policy) {
    case TierPolicy::heads:
      return "heads";
    case TierPolicy::lists:
      return "lists";
    case TierPolicy::reuse:
      return "reuse";
  }
  return "?";
}

// List v has its first offsets[v + 1] − offsets[v] neighbours in the tier.
struct HotTier {
  HostArray<std::uint32_t> offsets;  // [V + 1]; empty: nothing is hot
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return offsets.empty() ? 0 : offsets[offsets.size() - 1];
  }
  [[nodiscard]] std::uint64_t of(graph::Vertex v) const noexcept {
    return offsets.empty() ? 0 : offsets[v + std::uint64_t{1}] - offsets[v];
  }
};

// Fills `elements` of the tier, or all there are, but never more than 2³² − 1. `heads`: every list its first
// k neighbours, and one more for the first lists as far as that goes. `lists`: in the order of the vertices
// where that is by falling degree, ties and all; the last one that does not fit is kept in part. All threads.
// Throws UsageError for `reuse`, which plan_by_reuse is for.
[[nodiscard]] HotTier plan_tier(const graph::Csr& graph, TierPolicy policy, std::uint64_t elements);

// Lists that have neighbours, none of them hot; `tier`: null: none of any. All threads.
[[nodiscard]] std::uint64_t cold_lists(const graph::Csr& graph, const HotTier* tier);

// How often each sector's worth of a list was read in sample runs: a list is read from its beginning, so
// counts never rise along it. List v has its counts from sectors_before(v) on, ceil(degree / 8) of them.
struct ReadCounts {
  HostArray<std::uint64_t> before;  // [V + 1]
  HostArray<std::uint16_t> counts;  // [before[V]], saturating
};
[[nodiscard]] ReadCounts no_reads(const graph::Csr& graph);
// The most often read sectors, lists' beginnings first among those read equally often.
[[nodiscard]] HotTier plan_by_reuse(const graph::Csr& graph, const ReadCounts& reads, std::uint64_t elements);

}  // namespace grainscope::lean

#endif
