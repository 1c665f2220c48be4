#include "grainscope/lean/list_phases.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/lean/lean_cc.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth
constexpr std::uint64_t kPairs = kWarpLanes / kPairLanes;
constexpr int kMostSteps = 1000;  // along first neighbours

// Where the last 2^i vertices with a list begin, for all i up to as many as there are.
std::vector<std::uint64_t> begins_of_last(const Csr& graph) {
  std::vector<std::uint64_t> begins;
  std::uint64_t listed = 0;
  for (std::uint64_t v = graph.vertices(); v-- > 0;) {
    listed += graph.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
    if (listed == std::uint64_t{1} << begins.size()) {
      begins.push_back(v);
    }
  }
  return begins;
}

// That sample the vertices [first, last), a warp sixteen at a time: one for each line that lists begin in.
std::uint64_t sampling_requests(const Csr& graph, const HotTier* tier, const CompressedLists* compressed,
                                std::uint64_t first, std::uint64_t last) {
  std::uint64_t requests = 0;
#pragma omp parallel for reduction(+ : requests) if (last - first >= kManyVertices)
  for (std::uint64_t turn = first / kPairs; turn < (last + kPairs - 1) / kPairs; ++turn) {
    std::uint64_t line = UINT64_MAX;
    for (std::uint64_t v = std::max(first, turn * kPairs); v < std::min(last, (turn + 1) * kPairs); ++v) {
      const Step words = words_of(graph, tier, compressed, static_cast<Vertex>(v));
      const std::uint64_t hot = tier != nullptr ? tier->of(static_cast<Vertex>(v)) : 0;
      if (words.from < words.to && hot < kSampledNeighbours) {
        requests += words.from / kLineElements != line ? 1 : 0;
        line = words.from / kLineElements;
      }
    }
  }
  return requests;
}

// The lower of the two vertices that are each other's first neighbours and to which the way along first
// neighbours leads: the same from all vertices that these join. Where it is long, one on it.
Vertex end_of_firsts(const Csr& graph, Vertex v) {
  const auto first = [&graph](Vertex of) { return graph.neighbours(of).front(); };
  Vertex next = first(v);
  for (int step = 0; step < kMostSteps && first(next) != v; ++step) {
    v = next;
    next = first(v);
  }
  return std::min(v, next);
}

// Whose neighbours mostly have others for their first ones: what these lists join is not joined yet.
Vertex past_first_hubs(const Csr& graph, std::uint64_t listed) {
  const std::uint64_t entries = std::min(2 * listed, graph.edges() / 2);
  const auto* const at = std::lower_bound(graph.offsets.begin(), graph.offsets.end(), entries);
  return static_cast<Vertex>(at - graph.offsets.begin());
}

// Of the vertices with a list, those that are not in the largest part which first neighbours make.
std::uint64_t outside_of_firsts(const Csr& graph, std::uint64_t listed) {
  std::map<Vertex, std::uint64_t> ends;
  std::uint64_t sampled = 0;
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; listed > 0 && i < kSampledVertices; ++i) {
    const Vertex v = sampled_vertex(i, graph.vertices());
    if (graph.degree(v) > 0) {
      ++sampled;
      most = std::max(most, ++ends[end_of_firsts(graph, v)]);
    }
  }
  // One of its kind tells of no part.
  return sampled > 0 && most > 1 ? listed * (sampled - most) / sampled : listed;
}

}  // namespace

std::uint64_t vertices_listed(const Csr& graph) {
  std::uint64_t listed = 0;
#pragma omp parallel for reduction(+ : listed) if (graph.vertices() >= kManyVertices)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    listed += graph.degree(static_cast<Vertex>(v)) > 0 ? 1 : 0;
  }
  return listed;
}

ListPhases list_phases(const Csr& graph, const HotTier* tier, const CompressedLists* compressed) {
  if (graph.directed) {
    throw UsageError("lists are read by phases for components, which are those of an undirected graph");
  }
  const Vertex vertices = graph.vertices();
  ListPhases phases;
  phases.listed = vertices_listed(graph);
  phases.mean_list = graph.edges() / std::max<std::uint64_t>(phases.listed, 1);
  phases.outside = outside_of_firsts(graph, phases.listed);
  std::uint64_t lines = std::max(phases.listed >> (kListPhases - 1), kFewestLines);
  Vertex v = past_first_hubs(graph, phases.listed);
  phases.begins[0] = v;
  for (std::size_t p = 0; p < kListPhases; ++p) {
    std::uint64_t words = 0;
    for (; v < vertices && words < lines * kLineElements; ++v) {
      const Step list = words_of(graph, tier, compressed, v);
      words += list.to - list.from;
      const std::uint64_t hot = tier != nullptr ? tier->of(v) : 0;
      phases.entries[p] += graph.degree(v) - std::min(hot, kSampledNeighbours);
    }
    phases.begins[p + 1] = v;
    phases.lines[p] = words / kLineElements;
    lines *= p == 0 ? 1 : 2;
  }
  std::uint64_t requests = 0;
  std::uint64_t last = vertices;
  std::size_t power = 0;
  for (const std::uint64_t begin : begins_of_last(graph)) {
    requests += sampling_requests(graph, tier, compressed, begin, last);
    phases.samples[power++] = requests;
    last = begin;
  }
  requests += sampling_requests(graph, tier, compressed, 0, last);
  for (; phases.listed > 0 && power < phases.samples.size(); ++power) {
    phases.samples[power] = (requests << power) / phases.listed;
  }
  return phases;
}

}  // namespace grainscope::lean
