#include "grainscope/graph/reorder.hpp"

#include <algorithm>
#include <numeric>

#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/frontiers.hpp"
#include "grainscope/graph/generate.hpp"
#include "inverse_order.hpp"
#include "parallel_sort.hpp"

namespace grainscope::graph {
namespace {

constexpr int kTieRounds = 2;  // a third changes hardly anything

struct Scored {
  double score = 0;
  Vertex tie = 0;
  Vertex vertex = 0;
};

// Vertices by score, the highest first; of one score by what decides ties, the lowest first, then by number.
std::vector<Vertex> highest_first(HostArray<Scored>& scored) {
  parallel_sort(scored.span(), [](const Scored& a, const Scored& b) {
    if (a.score != b.score) {
      return a.score > b.score;
    }
    return a.tie != b.tie ? a.tie < b.tie : a.vertex < b.vertex;
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
    scored[v] = {0, 0, v};
  }
  return scored;
}

std::vector<Vertex> degree_order(const Csr& graph) {
  HostArray<Scored> scored(graph.vertices());
  const auto by_degree = [&](const auto& tie) {
#pragma omp parallel for schedule(dynamic, 4096) if (graph.vertices() > kFewVertices)
    for (Vertex v = 0; v < graph.vertices(); ++v) {
      scored[v] = {static_cast<double>(graph.degree(v)), tie(v), v};
    }
    return highest_first(scored);
  };
  std::vector<Vertex> order = by_degree([](Vertex) { return Vertex{0}; });
  for (int round = 0; round < kTieRounds; ++round) {
    const HostArray<Vertex> places = inverse_order(order);
    order = by_degree([&](Vertex v) {
      Vertex first = graph.vertices();
      for (const Vertex neighbour : graph.neighbours(v)) {
        first = std::min(first, places[neighbour]);
      }
      return first;
    });
  }
  return order;
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
