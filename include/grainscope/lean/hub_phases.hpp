#ifndef GRAINSCOPE_LEAN_HUB_PHASES_HPP
#define GRAINSCOPE_LEAN_HUB_PHASES_HPP

// How many hubs' lists connected components read to the end before they sample. A line of 128 bytes is a
// request, and so is a sample where no other vertex's lies in the same line; what a line joins to the largest
// part need not be sampled. The first vertices' lists are read phase by phase, each as many lines as all
// before it; joins are counted, and how many parts there were before and after does not depend on who joined
// first.

#include <array>
#include <cstddef>
#include <cstdint>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/hot_tier.hpp"

namespace grainscope::lean {

// They end with as many lines as there are lists: so many lines cannot join that many parts.
inline constexpr int kHubPhases = 9;
inline constexpr std::uint64_t kFewestLines = 1024;  // of a phase: fewer are not worth two launches
// Requests for samples that a line of the phase before has saved, since the next ones join a third of that or
// less, and that are left for a line of this one, since it saves some of them only.
inline constexpr std::uint64_t kSavedPerLine = 3;
inline constexpr std::uint64_t kLeftPerLine = 2;

// Vertices with a list. All threads.
[[nodiscard]] std::uint64_t vertices_listed(const graph::Csr& graph);

struct HubPhases {
  std::uint64_t listed = 0;  // vertices with a list
  // Phase p reads the lists [p > 0 ? ends[p - 1] : 0, ends[p]), and `lines` over the link. Sooner or later a
  // phase is empty; all are where most vertices in the first lists have a hot neighbour, which joins them,
  // and a request samples more than two in the mean, all of which hubs would have to join.
  std::array<graph::Vertex, kHubPhases> ends{};
  std::array<std::uint64_t, kHubPhases> lines{};
  // Requests that sample the last 2^i vertices with a list, which have the shortest; past the first as for
  // those that there are.
  std::array<std::uint64_t, 33> samples{};

  // That sample so many vertices, the last ones: what hubs are not joined to has few neighbours.
  [[nodiscard]] constexpr std::uint64_t requests(std::uint64_t vertices) const {
    if (vertices == 0) {
      return 0;
    }
    // Not std::bit_width: on a GPU it is 0, since nvcc drops the compiler's own function in it silently.
    std::size_t power = 0;
    for (std::size_t step = 16; step > 0; step /= 2) {
      power += vertices >> (power + step) > 0 ? step : 0;
    }
    const std::uint64_t more = vertices - (std::uint64_t{1} << power);
    return samples[power] + ((samples[power + 1] - samples[power]) * more >> power);
  }
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
  const std::uint64_t left = phases.requests(parts);
  return phases.lines[p] > 0 && left >= kLeftPerLine * phases.lines[p] &&
         (p == 0 || phases.requests(parts + joined[p]) - left >= kSavedPerLine * phases.lines[p - 1]);
}

}  // namespace grainscope::lean

#endif
