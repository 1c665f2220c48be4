// Holds labels of components to account. Labels are right if and only if they are equal across every edge,
// every label is a vertex that labels itself and no higher than those that carry it, and there are as many as
// components. An edge whose ends differ has an end outside the component that holds most edges, so the lists
// inside it are not read.

#include "arguments.hpp"
#include "components.hpp"
#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

[[noreturn]] void refuse(const Csr& graph, const std::string& why) {
  throw FailedError("cc on " + graph.name + ": " + why);
}

std::string label_of(Vertex v, std::span<const Vertex> labels) {
  return "vertex " + std::to_string(v) + " has label " + std::to_string(labels[v]);
}

void check_labels(const Csr& graph, std::span<const Vertex> labels) {
  const auto wrong =
      first_wrong(graph, [&](Vertex v) { return labels[v] > v || labels[labels[v]] != labels[v]; });
  if (!wrong) {
    return;
  }
  if (labels[*wrong] > *wrong) {
    refuse(graph, label_of(*wrong, labels) + ", which is not the lowest of its component");
  }
  refuse(graph, label_of(*wrong, labels) + ", but " + label_of(labels[*wrong], labels));
}

void check_edges(const Csr& graph, std::span<const Vertex> labels) {
  const Vertex largest = most_frequent_label(graph, labels);
  const auto stranger = [&](Vertex v) -> const Vertex* {
    for (const Vertex& u : graph.neighbours(v)) {
      if (labels[u] != labels[v]) {
        return &u;
      }
    }
    return nullptr;
  };
  const auto wrong =
      first_wrong(graph, [&](Vertex v) { return labels[v] != largest && stranger(v) != nullptr; });
  if (wrong) {
    refuse(graph, label_of(*wrong, labels) + ", but an edge joins it to where " +
                      label_of(*stranger(*wrong), labels));
  }
}

void check_count(const Csr& graph, std::uint64_t components, std::span<const Vertex> labels) {
  std::uint64_t found = 0;
#pragma omp parallel for reduction(+ : found) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    found += labels[v] == v ? 1 : 0;
  }
  if (found != components) {
    refuse(graph, std::to_string(found) + " labels for " + std::to_string(components) + " components");
  }
}

}  // namespace

std::string certify_cc(const Csr& graph, std::uint64_t components, std::span<const Vertex> labels) {
  require_undirected(graph, "cc");
  require_an_entry_each(graph, labels.size(), "cc");
  check_labels(graph, labels);
  check_edges(graph, labels);
  check_count(graph, components, labels);
  return "every label: equal across every edge, the lowest vertex that carries it, as many as the " +
         std::to_string(components) + " components that a union-find counts";
}

}  // namespace grainscope::graph
