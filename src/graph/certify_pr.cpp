// Holds PageRank to account by one more step in double precision: by how much it changes the ranks in all
// bounds how far they are from the true ones (at most 1 / 0.15 times as far).

#include <cmath>
#include <cstdio>

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

[[noreturn]] void refuse(const Csr& graph, const std::string& why) {
  throw FailedError("pr on " + graph.name + ": " + why);
}

// What each vertex hands out along each of its edges.
HostArray<double> shares_of(const Csr& graph, std::span<const float> ranks) {
  HostArray<double> shares(graph.vertices());
  const auto no_rank = first_wrong(graph, [&](Vertex v) {
    const Edge degree = graph.degree(v);
    shares[v] = degree == 0 ? 0 : kDamping * ranks[v] / static_cast<double>(degree);
    return !std::isfinite(ranks[v]) || ranks[v] < 0;
  });
  if (no_rank) {
    refuse(graph, "the rank of vertex " + std::to_string(*no_rank) + " is " + short_text(ranks[*no_rank]));
  }
  return shares;
}

}  // namespace

std::string certify_pr(const Csr& graph, const Csr& in_edges, std::span<const float> ranks,
                       double tolerance) {
  require_in_edges(graph, in_edges);
  require_an_entry_each(graph, ranks.size(), "pr");
  const HostArray<double> shares = shares_of(graph, ranks);
  const double teleport = (1 - kDamping) / static_cast<double>(graph.vertices());
  const double change = sum_of(in_edges, [&](Vertex v) {
    double next = teleport;
    for (const Vertex u : in_edges.neighbours(v)) {
      next += shares[u];
    }
    return std::abs(next - ranks[v]);
  });
  if (!(change < tolerance)) {
    refuse(graph, "one more step changes the ranks by " + short_text(change) + " in all, and less than " +
                      short_text(tolerance) + " is asked for");
  }
  return "one more step in double precision changes the ranks by " + short_text(change) +
         " in all, less than " + short_text(tolerance);
}

}  // namespace grainscope::graph
