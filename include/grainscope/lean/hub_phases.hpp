#ifndef GRAINSCOPE_LEAN_HUB_PHASES_HPP
#define GRAINSCOPE_LEAN_HUB_PHASES_HPP

// How many hubs' lists connected components read to the end before they sample: a line of 128 bytes is a
// request, a sample is one too, and as long as a line joins several parts to each other it saves as many
// samples. The first vertices' lists are read phase by phase, each as many lines as all before it; joins are
// counted, and how many parts there were before and after does not depend on who joined first.

#include <array>
#include <cstddef>
#include <cstdint>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/hot_tier.hpp"

namespace grainscope::lean {

// They end with as many lines as there are lists: so many lines cannot join that many parts.
inline constexpr int kHubPhases = 6;
inline constexpr std::uint64_t kFewestLines = 1024;  // of a phase: fewer are not worth two launches
inline constexpr std::uint64_t kJoinsPerLine = 2;    // that make a line worth it: the next ones join fewer

// Vertices with a list. All threads.
[[nodiscard]] std::uint64_t vertices_listed(const graph::Csr& graph);

struct HubPhases {
  std::uint64_t listed = 0;  // vertices with a list
  // Phase p reads the lists [p > 0 ? ends[p - 1] : 0, ends[p]), and `lines` over the link. Sooner or later a
  // phase is empty.
  std::array<graph::Vertex, kHubPhases> ends{};
  std::array<std::uint64_t, kHubPhases> lines{};
};

// `tier`: null: nothing is hot; `compressed`: of what is not; null: four bytes a neighbour.
[[nodiscard]] HubPhases hub_phases(const graph::Csr& graph, const HotTier* tier,
                                   const CompressedLists* compressed);

// Whether a phase is worth its lines, by joins so far: `joined[0]` before any phase, `joined[p + 1]` by phase
// p; 0 of one that was not.
[[nodiscard]] constexpr bool phase_pays(const HubPhases& phases, int phase,
                                        const unsigned long long* joined) {
  const auto p = static_cast<std::size_t>(phase);
  std::uint64_t parts = phases.listed;
  for (std::size_t i = 0; i <= p; ++i) {
    parts -= joined[i];
  }
  return phases.lines[p] > 0 && parts >= kJoinsPerLine * phases.lines[p] &&
         (p == 0 || joined[p] >= kJoinsPerLine * phases.lines[p - 1]);
}

}  // namespace grainscope::lean

#endif
