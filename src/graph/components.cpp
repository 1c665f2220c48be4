// How many connected components there are, by a parallel union-find that leaves most edges of the largest
// component unread: first every vertex is joined to its first neighbours, which nearly always makes the
// largest component, then only vertices outside of it read the rest of their lists. Source: Afforest (Sutton,
// Ben-Nun, Barak, IPDPS 2018).

#include "components.hpp"

#include <algorithm>
#include <vector>

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "forest.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

constexpr std::size_t kFirstNeighbours = 2;

}  // namespace

Vertex most_frequent_label(const Csr& graph, std::span<const Vertex> labels) {
  constexpr Edge kSamples = 1024;
  std::vector<Vertex> seen;
  for (Edge i = 0; i < kSamples && graph.edges() != 0; ++i) {
    seen.push_back(
        labels[graph.targets[graph.edges() / kSamples * i + graph.edges() % kSamples * i / kSamples]]);
  }
  std::sort(seen.begin(), seen.end());
  Vertex best = 0;
  std::size_t most = 0;
  for (auto first = seen.begin(); first != seen.end();) {
    const auto last = std::upper_bound(first, seen.end(), *first);
    if (const auto times = static_cast<std::size_t>(last - first); times > most) {
      most = times;
      best = *first;
    }
    first = last;
  }
  return best;
}

std::uint64_t count_components(const Csr& graph) {
  require_undirected(graph, "cc");
  Forest forest(graph.vertices());
  const auto join_all = [&](Vertex v, std::span<const Vertex> neighbours) {
    for (const Vertex u : neighbours) {
      forest.join(v, u);
    }
  };
  for_all(graph, [&](Vertex v) {
    const auto neighbours = graph.neighbours(v);
    join_all(v, neighbours.first(std::min(kFirstNeighbours, neighbours.size())));
  });
  forest.flatten();
  const Vertex largest = most_frequent_label(graph, forest.parents());
  for_all(graph, [&](Vertex v) {
    const auto neighbours = graph.neighbours(v);
    if (neighbours.size() > kFirstNeighbours && forest.parent(v) != largest) {
      join_all(v, neighbours.subspan(kFirstNeighbours));
    }
  });
  std::uint64_t roots = 0;
#pragma omp parallel for reduction(+ : roots) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    roots += forest.parent(v) == v ? 1 : 0;
  }
  return roots;
}

}  // namespace grainscope::graph
