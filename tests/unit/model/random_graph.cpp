#include "random_graph.hpp"

#include <numeric>
#include <random>

namespace grainscope::model {

graph::Csr graph_of(const std::vector<graph::Edge>& degrees) {
  graph::Csr graph;
  graph.offsets = HostArray<graph::Edge>(degrees.size() + 1);
  graph.offsets[0] = 0;
  std::partial_sum(degrees.begin(), degrees.end(), graph.offsets.begin() + 1);
  graph.targets = HostArray<graph::Vertex>(graph.offsets[degrees.size()]);
  return graph;
}

graph::Csr random_graph(graph::Vertex vertices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<graph::Edge> degrees(vertices);
  for (graph::Edge& degree : degrees) {
    const auto kind = random() % 100;
    degree = kind < 25 ? 0 : random() % (kind < 98 ? 40 : 2000);
  }
  return graph_of(degrees);
}

std::vector<graph::Vertex> random_frontier(graph::Vertex vertices, int percent, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<graph::Vertex> frontier;
  for (graph::Vertex v = 0; v < vertices; ++v) {
    if (static_cast<int>(random() % 100) < percent) {
      frontier.push_back(v);
    }
  }
  return frontier;
}

std::vector<graph::Vertex> all_vertices(const graph::Csr& graph) {
  std::vector<graph::Vertex> all(graph.vertices());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace grainscope::model
