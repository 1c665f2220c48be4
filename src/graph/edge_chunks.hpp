#ifndef GRAINSCOPE_SRC_GRAPH_EDGE_CHUNKS_HPP
#define GRAINSCOPE_SRC_GRAPH_EDGE_CHUNKS_HPP

// Passes over a graph by all threads, evenly loaded whatever the degrees.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// Passes over so few vertices are left to one thread: waking the others costs more.
inline constexpr std::size_t kFewVertices = 4096;

// Vertices in ascending order, cut into chunks of about as much work: a vertex counts one and its list's
// length. Where the cuts lie depends on the graph alone, never on the number of threads.
class EdgeChunks {
 public:
  explicit EdgeChunks(const Csr& graph)
      : graph_(graph), chunks_((graph.edges() + graph.vertices() + kWork - 1) / kWork) {}

  [[nodiscard]] std::uint64_t size() const { return chunks_; }
  // The first vertex of a chunk; of chunk size() one past the last vertex.
  [[nodiscard]] Vertex first(std::uint64_t chunk) const {
    const std::uint64_t work = chunk * kWork;
    Vertex low = 0;
    Vertex high = graph_.vertices();
    while (low < high) {
      const Vertex middle = low + (high - low) / 2;
      if (graph_.offsets[middle] + middle < work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  static constexpr std::uint64_t kWork = std::uint64_t{1} << 17;
  const Csr& graph_;
  std::uint64_t chunks_;
};

// work(v) once for every vertex.
template <class Work>
void for_all(const Csr& graph, const Work& work) {
  const EdgeChunks chunks(graph);
#pragma omp parallel for schedule(dynamic) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = chunks.first(chunk + 1);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      work(v);
    }
  }
}

// The lowest vertex of which `wrong` is true. Once a thread has found one it looks at none above it, so
// `wrong` must answer true for a vertex whether or not it was asked about others.
template <class Wrong>
[[nodiscard]] std::optional<Vertex> first_wrong(const Csr& graph, const Wrong& wrong) {
  const EdgeChunks chunks(graph);
  const Vertex none = graph.vertices();
  Vertex found = none;
#pragma omp parallel for schedule(dynamic) reduction(min : found) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = std::min(chunks.first(chunk + 1), found);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      if (wrong(v)) {
        found = v;
        break;
      }
    }
  }
  return found == none ? std::nullopt : std::optional(found);
}

// The sum of term(v) over all vertices, the same to the last bit for any number of threads.
template <class Term>
[[nodiscard]] double sum_of(const Csr& graph, const Term& term) {
  const EdgeChunks chunks(graph);
  std::vector<double> sums(chunks.size());
#pragma omp parallel for schedule(dynamic) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const Vertex last = chunks.first(chunk + 1);
    double sum = 0;
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      sum += term(v);
    }
    sums[chunk] = sum;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace grainscope::graph

#endif
