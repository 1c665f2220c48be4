// Dijkstra's algorithm with a heap: the distance of every vertex that is reached from a source.

#include <functional>
#include <queue>
#include <utility>

#include "arguments.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

using Reached = std::pair<std::uint64_t, Vertex>;  // distance and vertex, the nearest first
using Heap = std::priority_queue<Reached, std::vector<Reached>, std::greater<>>;

// Throws UsageError where a distance cannot be told from "not reached" in 32 bits.
std::vector<std::uint32_t> in_32_bits(const std::vector<std::uint64_t>& distances) {
  std::vector<std::uint32_t> result(distances.size(), kUnreached);
  for (std::size_t v = 0; v < distances.size(); ++v) {
    if (distances[v] == UINT64_MAX) {
      continue;
    }
    if (distances[v] >= kUnreached) {
      throw UsageError("vertex " + std::to_string(v) + " lies " + std::to_string(distances[v]) +
                       " from the source: distances are counted in 32 bits, use smaller weights");
    }
    result[v] = static_cast<std::uint32_t>(distances[v]);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> serial_sssp(const Csr& graph, Vertex source) {
  require_source(graph, source);
  require_weights(graph, "sssp");
  std::vector<std::uint64_t> nearest(graph.vertices(), UINT64_MAX);
  Heap heap;
  nearest[source] = 0;
  heap.emplace(0, source);
  while (!heap.empty()) {
    const auto [distance, v] = heap.top();
    heap.pop();
    if (distance != nearest[v]) {
      continue;  // a shorter way was found since
    }
    const auto neighbours = graph.neighbours(v);
    const auto weights = graph.weights_of(v);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const std::uint64_t further = distance + weights[i];
      if (further < nearest[neighbours[i]]) {
        nearest[neighbours[i]] = further;
        heap.emplace(further, neighbours[i]);
      }
    }
  }
  return in_32_bits(nearest);
}

}  // namespace grainscope::graph
