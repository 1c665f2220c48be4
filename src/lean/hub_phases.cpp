#include "grainscope/lean/hub_phases.hpp"

#include <algorithm>

namespace grainscope::lean {

HubPhases hub_phases(const graph::Csr& graph, const HotTier* tier, const CompressedLists* compressed) {
  const graph::Vertex vertices = graph.vertices();
  HubPhases phases;
  for (graph::Vertex v = 0; v < vertices; ++v) {
    phases.listed += graph.degree(v) > 0 ? 1 : 0;
  }
  std::uint64_t lines = std::max(phases.listed >> (kHubPhases - 1), kFewestLines);
  graph::Vertex v = 0;
  for (std::size_t p = 0; p < kHubPhases; ++p) {
    std::uint64_t words = 0;
    for (; v < vertices && words < lines * kLineElements; ++v) {
      const Step list = words_of(graph, tier, compressed, v);
      words += list.to - list.from;
    }
    phases.ends[p] = v;
    phases.lines[p] = words / kLineElements;
    lines *= p == 0 ? 1 : 2;
  }
  return phases;
}

}  // namespace grainscope::lean
