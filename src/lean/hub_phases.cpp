#include "grainscope/lean/hub_phases.hpp"

#include <algorithm>

namespace grainscope::lean {

std::uint64_t vertices_listed(const graph::Csr& graph) {
  constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth
  std::uint64_t listed = 0;
#pragma omp parallel for reduction(+ : listed) if (graph.vertices() >= kManyVertices)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    listed += graph.degree(static_cast<graph::Vertex>(v)) > 0 ? 1 : 0;
  }
  return listed;
}

HubPhases hub_phases(const graph::Csr& graph, const HotTier* tier, const CompressedLists* compressed) {
  const graph::Vertex vertices = graph.vertices();
  HubPhases phases;
  phases.listed = vertices_listed(graph);
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
