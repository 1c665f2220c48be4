#ifndef GRAINSCOPE_LEAN_LIST_PHASES_HPP
#define GRAINSCOPE_LEAN_LIST_PHASES_HPP

// How many lists connected components read to the end before they sample. A line of 128 bytes is a request,
// and so is a sample where no other vertex's lies in the same line; what a line joins to the largest part
// need not be sampled. Lists are read phase by phase, each as many lines as all before it; joins are counted,
// and how many parts there were before and after does not depend on who joined first.
//
// First neighbours are joined before any phase, hot ones and those side by side: into one part, or into
// trees, a hub and those whose first neighbour it is. Of a hub's list nearly everybody is in its tree
// already; so the phases begin behind those lists that have most vertices' first neighbours.

#include <array>
#include <cstddef>
#include <cstdint>

#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/compressed_lists.hpp"
#include "grainscope/lean/hot_tier.hpp"

namespace grainscope::lean {

// They end with as many lines as there are lists: so many lines cannot join that many parts.
inline constexpr int kListPhases = 9;
inline constexpr std::uint64_t kFewestLines = 1024;  // of a phase: fewer are not worth two launches
// Requests for samples that a line of the phase before has saved, since the next ones join a third of that or
// less, and that are left for a line of this one, since it saves some of them only.
inline constexpr std::uint64_t kSavedPerLine = 3;
inline constexpr std::uint64_t kLeftPerLine = 2;

// Vertices with a list. All threads.
[[nodiscard]] std::uint64_t vertices_listed(const graph::Csr& graph);

struct ListPhases {
  std::uint64_t listed = 0;  // vertices with a list
  std::uint64_t mean_list = 0;
  // Vertices with a list that their first neighbours leave outside of the largest part, as 1024 of them tell,
  // evenly spread.
  std::uint64_t outside = 0;
  // Phase p reads the lists [begins[p], begins[p + 1]), and `lines` over the link. Sooner or later a phase is
  // empty.
  std::array<graph::Vertex, kListPhases + 1> begins{};
  std::array<std::uint64_t, kListPhases> lines{};
  std::array<std::uint64_t, kListPhases>
      entries{};  // neighbours in the lists, without hot ones joined before
  // Requests that sample the last 2^i vertices with a list, which have the shortest; past the first as for
  // those that there are.
  std::array<std::uint64_t, 33> samples{};

  // That sample so many vertices, the last ones: what is not joined early has few neighbours.
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

// Of an undirected graph. `tier`: null: nothing is hot; `compressed`: of what is not; null: four bytes a
// neighbour. First neighbours are taken for joined, hot or side by side; where they are neither, components
// are right, but more is read. Throws UsageError for a directed graph.
[[nodiscard]] ListPhases list_phases(const graph::Csr& graph, const HotTier* tier,
                                     const CompressedLists* compressed);

// Vertices with a list that are expected outside of the largest part before a phase, by joins so far:
// `joined[0]` before any phase, `joined[p + 1]` by phase p; 0 of one that was not.
[[nodiscard]] constexpr std::uint64_t outside_before(const ListPhases& phases, int phase,
                                                     const unsigned long long* joined) {
  const auto p = static_cast<std::size_t>(phase);
  if (p == 0) {
    // More than first neighbours may have been hot: a part is no more than a list in the mean, and its hub.
    const std::uint64_t parts = phases.listed - joined[0];
    const std::uint64_t most = parts * (phases.mean_list + 1);
    return most < phases.outside ? most : phases.outside;
  }
  // Whoever of a phase's neighbours made a join was outside: in the mean over the phase as many of all. At
  // its end, with twice as many neighbours read as at its begin, half of that: a tree is missed by all of
  // them the less likely the larger it is, and sizes are many.
  const std::uint64_t entries = phases.entries[p - 1];
  return entries > 0 ? phases.listed * joined[p] / (2 * entries) : 0;
}

// Whether a phase is worth its lines.
[[nodiscard]] constexpr bool phase_pays(const ListPhases& phases, int phase,
                                        const unsigned long long* joined) {
  const auto p = static_cast<std::size_t>(phase);
  const std::uint64_t left = phases.requests(outside_before(phases, phase, joined));
  return phases.lines[p] > 0 && left >= kLeftPerLine * phases.lines[p] &&
         (p == 0 || phases.requests(outside_before(phases, phase - 1, joined)) >=
                        left + kSavedPerLine * phases.lines[p - 1]);
}

}  // namespace grainscope::lean

#endif
