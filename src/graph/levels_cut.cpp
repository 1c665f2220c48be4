#include "levels_cut.hpp"

#include <algorithm>
#include <array>

#include "edge_chunks.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

// Levels from here on are counted together and always read through in-edges: a graph that is so deep has no
// two levels that hold most of it.
constexpr std::size_t kDeep = 254;
constexpr std::size_t kNowhere = 255;  // what is not reached
using Entries = std::array<std::uint64_t, 256>;

struct Counted {
  Entries out{};
  Entries in{};
};

Counted count_levels(const Csr& graph, const Csr& in_edges, std::span<const std::uint32_t> depths) {
  Counted counted;
  std::uint64_t* out = counted.out.data();
  std::uint64_t* in = counted.in.data();
#pragma omp parallel for reduction(+ : out[:256], in[:256]) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const std::size_t level = depths[v] == kUnreached ? kNowhere : std::min<std::size_t>(depths[v], kDeep);
    out[level] += graph.degree(v);
    in[level] += in_edges.degree(v);
  }
  return counted;
}

}  // namespace

std::uint64_t cheapest_cut(const Csr& graph, const Csr& in_edges, std::span<const std::uint32_t> depths) {
  const Counted counted = count_levels(graph, in_edges, depths);
  std::uint64_t best = kAllLevels;
  std::uint64_t least = graph.edges() - counted.out[kNowhere];
  std::uint64_t below = 0;
  std::uint64_t above = in_edges.edges() - counted.in[0] - counted.in[1];
  for (std::size_t level = 0; level + 2 <= kDeep; ++level) {
    if (below + above < least) {
      least = below + above;
      best = level;
    }
    below += counted.out[level];
    above -= counted.in[level + 2];
  }
  return best;
}

}  // namespace grainscope::graph
