#include "serial_oracles.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "../../src/graph/answers.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::graph {

// Breadth-first search with a queue: the depth of every vertex that is reached from a source.

std::vector<std::uint32_t> serial_bfs(const Csr& graph, Vertex source) {
  require_source(graph, source);
  std::vector<std::uint32_t> depths(graph.vertices(), kUnreached);
  std::vector<Vertex> queue{source};
  depths[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const Vertex v = queue[next];
    for (const Vertex u : graph.neighbours(v)) {
      if (depths[u] == kUnreached) {
        depths[u] = depths[v] + 1;
        queue.push_back(u);
      }
    }
  }
  return depths;
}

// Dijkstra's algorithm with a heap: the distance of every vertex that is reached from a source.
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

// Connected components by one breadth-first search after another, from the lowest vertex not yet labelled.

std::vector<Vertex> serial_cc(const Csr& graph) {
  require_undirected(graph, "cc");
  constexpr Vertex kNone = 0xffffffffU;
  std::vector<Vertex> labels(graph.vertices(), kNone);
  std::vector<Vertex> queue;
  for (Vertex lowest = 0; lowest < graph.vertices(); ++lowest) {
    if (labels[lowest] != kNone) {
      continue;
    }
    labels[lowest] = lowest;
    queue.assign(1, lowest);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const Vertex u : graph.neighbours(queue[next])) {
        if (labels[u] == kNone) {
          labels[u] = lowest;
          queue.push_back(u);
        }
      }
    }
  }
  return labels;
}

// PageRank by power iteration in double precision: every vertex pushes its rank in equal parts along its
// edges.
namespace {

// What one step makes of the ranks: 0.15 / V each, and 0.85 of what the in-neighbours hand out. Vertices
// without out-edges hand out nothing, and the mass is lost.
std::vector<double> power_step(const Csr& graph, const std::vector<double>& ranks) {
  std::vector<double> next(ranks.size(), (1 - kDamping) / static_cast<double>(ranks.size()));
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const double share = kDamping * ranks[v] / static_cast<double>(graph.degree(v));
    for (const Vertex u : graph.neighbours(v)) {
      next[u] += share;
    }
  }
  return next;
}

}  // namespace

std::vector<double> serial_pr(const Csr& graph, double tolerance) {
  constexpr int kMostSteps = 1000;  // 0.85^1000 is far below what a double tells from 0
  std::vector<double> ranks(graph.vertices(), 1 / static_cast<double>(graph.vertices()));
  for (int i = 0; i < kMostSteps; ++i) {
    std::vector<double> next = power_step(graph, ranks);
    double change = 0;
    for (std::size_t v = 0; v < ranks.size(); ++v) {
      change += std::abs(next[v] - ranks[v]);
    }
    ranks = std::move(next);
    if (change < tolerance) {
      return ranks;  // a further step changes at most 0.85 of that
    }
  }
  throw UsageError("no ranks in double precision change by less than " + std::to_string(tolerance) +
                   " in a step");
}

}  // namespace grainscope::graph
