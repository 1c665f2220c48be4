// PageRank by power iteration in double precision: every vertex pushes its rank in equal parts along its
// edges.

#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"

namespace grainscope::graph {
namespace {

// What one step makes of the ranks: 0.15 / V each, and 0.85 of what the in-neighbours hand out. Vertices
// without out-edges hand out nothing, and the mass is lost.
std::vector<double> step(const Csr& graph, const std::vector<double>& ranks) {
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
    std::vector<double> next = step(graph, ranks);
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
