#include "grainscope/lean/hub_phases.hpp"

#include <algorithm>
#include <vector>

#include "grainscope/lean/lean_cc.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

constexpr std::uint64_t kManyVertices = 1 << 12;  // that a team of threads is worth
constexpr std::uint64_t kPairs = kWarpLanes / kPairLanes;
// A request that samples so many lists is not saved by joining one of them.
constexpr std::uint64_t kListsPerRequest = 2;
constexpr std::uint64_t kEntriesLooked = 1 << 22;  // at most, of the first lists

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

struct Sampling {
  std::uint64_t lists = 0;  // that samples over the link are of
  std::uint64_t requests = 0;
};

// Of the vertices [first, last), a warp sixteen at a time: a request for each line that lists begin in.
Sampling sampling_of(const Csr& graph, const HotTier* tier, const CompressedLists* compressed,
                     std::uint64_t first, std::uint64_t last) {
  std::uint64_t lists = 0;
  std::uint64_t requests = 0;
#pragma omp parallel for reduction(+ : lists, requests) if (last - first >= kManyVertices)
  for (std::uint64_t turn = first / kPairs; turn < (last + kPairs - 1) / kPairs; ++turn) {
    std::uint64_t line = UINT64_MAX;
    for (std::uint64_t v = std::max(first, turn * kPairs); v < std::min(last, (turn + 1) * kPairs); ++v) {
      const Step words = words_of(graph, tier, compressed, static_cast<Vertex>(v));
      const std::uint64_t hot = tier != nullptr ? tier->of(static_cast<Vertex>(v)) : 0;
      if (words.from < words.to && hot < kSampledNeighbours) {
        ++lists;
        requests += words.from / kLineElements != line ? 1 : 0;
        line = words.from / kLineElements;
      }
    }
  }
  return {lists, requests};
}

// Whether most vertices in the first lists have something hot, which joins them without the hubs.
bool mostly_hot(const Csr& graph, const HotTier* tier, Vertex lists) {
  if (tier == nullptr) {
    return false;
  }
  std::vector<bool> seen(graph.vertices());
  std::uint64_t held = 0;
  std::uint64_t hot = 0;
  for (Vertex list = 0; list < lists && graph.offsets[list] < kEntriesLooked; ++list) {
    for (const Vertex v : graph.neighbours(list)) {
      held += seen[v] ? 0 : 1;
      hot += !seen[v] && tier->of(v) > 0 ? 1 : 0;
      seen[v] = true;
    }
  }
  return 2 * hot > held;
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

HubPhases hub_phases(const Csr& graph, const HotTier* tier, const CompressedLists* compressed) {
  const Vertex vertices = graph.vertices();
  HubPhases phases;
  phases.listed = vertices_listed(graph);
  std::uint64_t lines = std::max(phases.listed >> (kHubPhases - 1), kFewestLines);
  Vertex v = 0;
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
  Sampling sampling;
  const auto add = [&](std::uint64_t first, std::uint64_t last) {
    const Sampling more = sampling_of(graph, tier, compressed, first, last);
    sampling.lists += more.lists;
    sampling.requests += more.requests;
  };
  std::uint64_t last = vertices;
  std::size_t power = 0;
  for (const std::uint64_t begin : begins_of_last(graph)) {
    add(begin, last);
    phases.samples[power++] = sampling.requests;
    last = begin;
  }
  add(0, last);
  for (; phases.listed > 0 && power < phases.samples.size(); ++power) {
    phases.samples[power] = (sampling.requests << power) / phases.listed;
  }
  if (phases.lines[0] > 0 && kListsPerRequest * sampling.requests < sampling.lists &&
      mostly_hot(graph, tier, phases.ends[0])) {
    phases.ends = {};
    phases.lines = {};
  }
  return phases;
}

}  // namespace grainscope::lean
