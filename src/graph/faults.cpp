#include "faults.hpp"

#include <algorithm>

#include "hash.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

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

bool list_is_wrong(const Csr& graph, Vertex v) {
  std::uint64_t least = 0;  // that the next neighbour may be
  bool wrong = false;
  for (const Vertex u : graph.neighbours(v)) {
    wrong |= u >= graph.vertices() || u == v || u < least;
    least = u + std::uint64_t{1};
  }
  return wrong;
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
  const std::uint64_t v = first_vertex(graph, [&](Vertex each) { return list_is_wrong(graph, each); });
  return v == kNone ? std::nullopt : std::optional(fault_of_list(graph, static_cast<Vertex>(v)));
}

std::optional<Unpaired> first_unpaired(const Csr& graph) {
  if (unpaired_sum(graph) == 0) {
    return std::nullopt;
  }
  const std::uint64_t v =
      first_vertex(graph, [&](Vertex each) { return unpaired_of(graph, each).has_value(); });
  return v == kNone ? std::nullopt : unpaired_of(graph, static_cast<Vertex>(v));
}

}  // namespace grainscope::graph
