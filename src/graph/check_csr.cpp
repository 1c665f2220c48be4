// Holds a graph to what csr.hpp promises of it.

#include <string>

#include "faults.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/build.hpp"
#include "threads.hpp"

namespace grainscope::graph {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

[[noreturn]] void refuse(const Csr& graph, const std::string& what) {
  throw FailedError("the graph " + (graph.name.empty() ? "" : "'" + graph.name + "' ") +
                    "is damaged: " + what);
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
  std::uint64_t falling = kNone;
#pragma omp parallel for reduction(min : falling) if (graph.vertices() > kWorthThreads)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    if (v < falling && graph.offsets[v] > graph.offsets[v + 1]) {
      falling = v;
    }
  }
  if (falling != kNone) {
    refuse(graph, "its offsets fall behind vertex " + std::to_string(falling));
  }
  if (graph.offsets[graph.vertices()] != graph.edges()) {
    refuse(graph, "the last offset is " + std::to_string(graph.offsets[graph.vertices()]) +
                      ", its edges are " + std::to_string(graph.edges()));
  }
}

}  // namespace

void check_csr(const Csr& graph) {
  if (graph.weighted() && graph.weights.size() != graph.edges()) {
    refuse(graph, "it has " + std::to_string(graph.weights.size()) + " weights for " +
                      std::to_string(graph.edges()) + " edges");
  }
  check_offsets(graph);
  if (const auto fault = first_list_fault(graph)) {
    refuse(graph, "in the list of vertex " + std::to_string(fault->vertex) + ": " + fault->what);
  }
  const auto fault = graph.directed ? std::nullopt : first_unpaired(graph);
  if (fault) {
    refuse(graph,
           "the edge from " + std::to_string(fault->vertex) + " to " +
               std::to_string(graph.targets[fault->entry]) +
               (fault->other_weight ? " has another weight the other way round"
                                    : " is not there the other way round, though the graph is undirected"));
  }
}

}  // namespace grainscope::graph
