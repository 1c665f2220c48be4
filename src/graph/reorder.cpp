#include "grainscope/graph/reorder.hpp"

#include <numeric>

#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/frontiers.hpp"
#include "grainscope/graph/generate.hpp"
#include "parallel_sort.hpp"

namespace grainscope::graph {
namespace {

struct Scored {
  double score = 0;
  Vertex vertex = 0;
};

// Vertices by score, the highest first, ties by number.
std::vector<Vertex> highest_first(HostArray<Scored>& scored) {
  parallel_sort(scored.span(), [](const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.vertex < b.vertex;
  });
  std::vector<Vertex> order(scored.size());
#pragma omp parallel for if (order.size() > kFewVertices)
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = scored[i].vertex;
  }
  return order;
}

// No scores yet.
HostArray<Scored> unscored(Vertex vertices) {
  HostArray<Scored> scored(vertices);
#pragma omp parallel for if (vertices > kFewVertices)
  for (Vertex v = 0; v < vertices; ++v) {
    scored[v] = {0, v};
  }
  return scored;
}

std::vector<Vertex> degree_order(const Csr& graph) {
  HostArray<Scored> scored = unscored(graph.vertices());
#pragma omp parallel for if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    scored[v].score = static_cast<double>(graph.degree(v));
  }
  return highest_first(scored);
}

// A vertex's terms are added source by source, so the sums do not depend on the number of threads.
std::vector<Vertex> halo_like_order(const Csr& graph, int samples) {
  if (samples < 1) {
    throw UsageError("the halo_like order needs at least one sample, not " + std::to_string(samples));
  }
  HostArray<Scored> scored = unscored(graph.vertices());
  if (graph.edges() == 0) {
    return highest_first(scored);
  }
  for (const Vertex source : gap_sources(graph, samples)) {
    double depth = 0;
    run_levels(graph, Algorithm::bfs, source, [&](std::span<const Vertex> active) {
      const double term = 1 / (1 + depth++);
#pragma omp parallel for if (active.size() > kFewVertices)
      for (const Vertex v : active) {
        scored[v].score += term;
      }
    });
  }
  return highest_first(scored);
}

}  // namespace

const char* name(Order order) {
  switch (order) {
    case Order::original:
      return "original";
    case Order::degree:
      return "degree";
    case Order::halo_like:
      return "halo_like";
  }
  return "?";
}

std::vector<Vertex> order_of(const Csr& graph, Order order, int samples) {
  switch (order) {
    case Order::degree:
      return degree_order(graph);
    case Order::halo_like:
      return halo_like_order(graph, samples);
    case Order::original:
      break;
  }
  std::vector<Vertex> order_kept(graph.vertices());
  std::iota(order_kept.begin(), order_kept.end(), Vertex{0});
  return order_kept;
}

}  // namespace grainscope::graph
