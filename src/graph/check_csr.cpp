// Holds a graph to what csr.hpp promises of it.

#include <algorithm>
#include <optional>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "hash.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

[[noreturn]] void refuse(const Csr& graph, const std::string& what) {
  throw FailedError("the graph " + (graph.name.empty() ? "" : "'" + graph.name + "' ") +
                    "is damaged: " + what);
}

// The first vertex for which `wrong(v)` holds, or kNone. All threads.
template <class Wrong>
std::uint64_t first_vertex(const Csr& graph, const Wrong& wrong) {
  std::uint64_t first = kNone;
#pragma omp parallel for schedule(dynamic, 1024) reduction(min : first)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    if (v < first && wrong(static_cast<Vertex>(v))) {
      first = v;
    }
  }
  return first;
}

void check_offsets(const Csr& graph) {
  if (graph.offsets.empty()) {
    if (graph.edges() != 0) {
      refuse(graph, "it has edges and no offsets");
    }
    return;
  }
  if (graph.offsets.size() - 1 > UINT32_MAX) {
    refuse(graph, "its vertices do not fit in 32 bits");
  }
  if (graph.offsets[0] != 0) {
    refuse(graph, "the first offset is " + std::to_string(graph.offsets[0]));
  }
  const std::uint64_t falling =
      first_vertex(graph, [&](Vertex v) { return graph.offsets[v] > graph.offsets[v + std::uint64_t{1}]; });
  if (falling != kNone) {
    refuse(graph, "its offsets fall behind vertex " + std::to_string(falling));
  }
  if (graph.offsets[graph.vertices()] != graph.edges()) {
    refuse(graph, "the last offset is " + std::to_string(graph.offsets[graph.vertices()]) +
                      ", its edges are " + std::to_string(graph.edges()));
  }
}

// What is wrong with the list of v.
std::optional<std::string> fault_of_list(const Csr& graph, Vertex v) {
  std::optional<Vertex> before;
  for (const Vertex u : graph.neighbours(v)) {
    if (u >= graph.vertices()) {
      return "neighbour " + std::to_string(u) + " is no vertex";
    }
    if (u == v) {
      return "a self-loop";
    }
    if (before && *before >= u) {
      return std::to_string(u) +
             (*before == u ? " is repeated" : " stands behind " + std::to_string(*before));
    }
    before = u;
  }
  return std::nullopt;
}

bool list_is_wrong(const Csr& graph, Vertex v) {
  std::uint64_t before = kNone;
  bool wrong = false;
  for (const Vertex u : graph.neighbours(v)) {
    wrong |= u >= graph.vertices() || u == v || (before != kNone && before >= u);
    before = u;
  }
  return wrong;
}

// The sum of a hash of every edge's ends and weight, added in one direction and taken away in the other.
// 0 where every edge is there both ways; where one is not it is 0 by a chance of 2⁻⁶⁴.
std::uint64_t unpaired(const Csr& graph) {
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    for (Edge i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i) {
      const std::uint64_t u = graph.targets[i];
      std::uint64_t hash = mixed(std::min(u, v) << 32 | std::max(u, v));
      hash = graph.weighted() ? mixed(hash ^ graph.weights[i]) : hash;
      sum += u > v ? hash : 0 - hash;
    }
  }
  return sum;
}

// Whether some edge of v lacks its opposite, or that has another weight.
std::optional<std::string> fault_of_pairs(const Csr& graph, Vertex v) {
  for (Edge i = graph.offsets[v]; i < graph.offsets[v + std::uint64_t{1}]; ++i) {
    const Vertex u = graph.targets[i];
    const auto list = graph.neighbours(u);
    const auto found = std::lower_bound(list.begin(), list.end(), v);
    const std::string edge = std::to_string(v) + " to " + std::to_string(u);
    if (found == list.end() || *found != v) {
      return "the edge from " + edge + " is not there the other way round, though the graph is undirected";
    }
    if (graph.weighted() && graph.weights_of(u)[found - list.begin()] != graph.weights[i]) {
      return "the edge from " + edge + " has another weight the other way round";
    }
  }
  return std::nullopt;
}

}  // namespace

void check_csr(const Csr& graph) {
  if (graph.weighted() && graph.weights.size() != graph.edges()) {
    refuse(graph, "it has " + std::to_string(graph.weights.size()) + " weights for " +
                      std::to_string(graph.edges()) + " edges");
  }
  check_offsets(graph);
  const std::uint64_t unsorted = first_vertex(graph, [&](Vertex v) { return list_is_wrong(graph, v); });
  if (unsorted != kNone) {
    refuse(graph, "in the list of vertex " + std::to_string(unsorted) + ": " +
                      fault_of_list(graph, static_cast<Vertex>(unsorted)).value_or("it changed meanwhile"));
  }
  if (graph.directed || unpaired(graph) == 0) {
    return;
  }
  const std::uint64_t odd =
      first_vertex(graph, [&](Vertex v) { return fault_of_pairs(graph, v).has_value(); });
  refuse(graph,
         odd == kNone ? "it changed while it was checked" : *fault_of_pairs(graph, static_cast<Vertex>(odd)));
}

}  // namespace grainscope::graph
