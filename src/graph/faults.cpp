#include "faults.hpp"

#include <algorithm>

#include "edge_chunks.hpp"
#include "hash.hpp"

namespace grainscope::graph {
namespace {

// Without a branch in it: this reads every entry of a graph that is loaded. Of an ascending list only the
// last neighbour can be out of range.
bool list_is_wrong(const Csr& graph, Vertex v) {
  const auto list = graph.neighbours(v);
  const Vertex* const neighbours = list.data();
  const std::size_t last = list.empty() ? 0 : list.size() - 1;
  unsigned wrong = 0;
  for (std::size_t i = 0; i < last; ++i) {
    wrong |= unsigned{neighbours[i] >= neighbours[i + 1]} | unsigned{neighbours[i] == v};
  }
  return wrong != 0 || (!list.empty() && (neighbours[last] == v || neighbours[last] >= graph.vertices()));
}

ListFault fault_of_list(const Csr& graph, Vertex v) {
  std::uint64_t least = 0;
  for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
    const Vertex u = graph.targets[i];
    if (u >= graph.vertices()) {
      return {v, i, "neighbour " + std::to_string(u) + " is no vertex"};
    }
    if (u == v) {
      return {v, i, "it is its own neighbour"};
    }
    if (u < least) {
      return {v, i,
              "neighbour " + std::to_string(u) +
                  (u + std::uint64_t{1} == least ? " is repeated"
                                                 : " stands behind " + std::to_string(least - 1))};
    }
    least = u + std::uint64_t{1};
  }
  return {v, graph.offsets[v], "it changed while it was checked"};
}

// The sum of a hash of every edge's ends and weight, added in one direction and taken away in the other.
// 0 where every edge is there both ways; where one is not it is 0 by a chance of 2⁻⁶⁴.
std::uint64_t unpaired_sum(const Csr& graph) {
  const EdgeChunks chunks(graph);
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const std::uint64_t last = chunks.first(chunk + 1);
    for (std::uint64_t v = chunks.first(chunk); v < last; ++v) {
      for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
        const std::uint64_t u = graph.targets[i];
        std::uint64_t hash = mixed(std::min(u, v) << 32 | std::max(u, v));
        hash = graph.weighted() ? mixed(hash ^ graph.weights[i]) : hash;
        sum += u > v ? hash : 0 - hash;
      }
    }
  }
  return sum;
}

std::optional<Unpaired> unpaired_of(const Csr& graph, Vertex v) {
  for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
    const Vertex u = graph.targets[i];
    const auto list = graph.neighbours(u);
    const auto found = std::lower_bound(list.begin(), list.end(), v);
    if (found == list.end() || *found != v) {
      return Unpaired{v, i, false};
    }
    if (graph.weighted() && graph.weights_of(u)[found - list.begin()] != graph.weights[i]) {
      return Unpaired{v, i, true};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ListFault> first_list_fault(const Csr& graph) {
  const auto v = first_wrong(graph, [&](Vertex each) { return list_is_wrong(graph, each); });
  return v ? std::optional(fault_of_list(graph, *v)) : std::nullopt;
}

std::optional<Unpaired> first_unpaired(const Csr& graph) {
  if (unpaired_sum(graph) == 0) {
    return std::nullopt;
  }
  const auto v = first_wrong(graph, [&](Vertex each) { return unpaired_of(graph, each).has_value(); });
  return v ? unpaired_of(graph, *v) : std::nullopt;
}

}  // namespace grainscope::graph
