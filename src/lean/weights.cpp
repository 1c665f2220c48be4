#include <algorithm>
#include <bit>

#include "grainscope/lean/lean_sssp.hpp"

namespace grainscope::lean {

int vertex_bits(const graph::Csr& graph) {
  return graph.vertices() < 2 ? 1 : static_cast<int>(std::bit_width(graph.vertices() - 1));
}

WeightBounds weight_bounds(const graph::Csr& graph) {
  graph::Weight most = 0;
  graph::Weight least = graph.weighted() ? graph.weights[0] : 0;
#pragma omp parallel for reduction(max : most) reduction(min : least)
  for (std::uint64_t i = 0; i < graph.weights.size(); ++i) {
    most = std::max(most, graph.weights[i]);
    least = std::min(least, graph.weights[i]);
  }
  return {least, most};
}

bool packs_weights(const graph::Csr& graph) {
  return vertex_bits(graph) + static_cast<int>(std::bit_width(weight_bounds(graph).most)) <= 32;
}

std::uint32_t usual_delta(const graph::Csr& graph) {
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::uint64_t i = 0; i < graph.weights.size(); ++i) {
    sum += graph.weights[i];
  }
  constexpr std::uint64_t kShare = 12;
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, sum / kShare / std::max<std::uint64_t>(1, graph.edges())));
}

}  // namespace grainscope::lean
