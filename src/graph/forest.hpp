#ifndef GRAINSCOPE_SRC_GRAPH_FOREST_HPP
#define GRAINSCOPE_SRC_GRAPH_FOREST_HPP

#include <algorithm>
#include <atomic>
#include <span>

#include "edge_chunks.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/csr.hpp"

namespace grainscope::graph {

// A forest in which every vertex points at a lower one of its tree, or at itself.
class Forest {
 public:
  explicit Forest(Vertex vertices) : parents_(vertices) {
#pragma omp parallel for if (vertices > kFewVertices)
    for (Vertex v = 0; v < vertices; ++v) {
      parents_[v] = v;
    }
  }

  [[nodiscard]] Vertex parent(Vertex v) const {
    return std::atomic_ref(parents_[v]).load(std::memory_order_relaxed);
  }

  // Makes one tree of the two that hold u and v, and says whether they were two. Any number of threads at
  // once.
  bool join(Vertex u, Vertex v) {
    Vertex a = parent(u);
    Vertex b = parent(v);
    while (a != b) {
      Vertex high = std::max(a, b);
      const Vertex low = std::min(a, b);
      const Vertex above = parent(high);
      Vertex expected = high;
      if (above == low) {
        return false;
      }
      if (above == high && std::atomic_ref(parents_[high]).compare_exchange_strong(expected, low)) {
        return true;
      }
      a = parent(parent(high));
      b = parent(low);
    }
    return false;
  }

  // Lets every vertex point at the root of its tree.
  void flatten() {
    const auto vertices = static_cast<Vertex>(parents_.size());
#pragma omp parallel for schedule(dynamic, 16384) if (vertices > kFewVertices)
    for (Vertex v = 0; v < vertices; ++v) {
      while (parent(v) != parent(parent(v))) {
        std::atomic_ref(parents_[v]).store(parent(parent(v)), std::memory_order_relaxed);
      }
    }
  }

  [[nodiscard]] std::span<const Vertex> parents() const {
    return parents_.span();
  }

 private:
  HostArray<Vertex> parents_;
};

}  // namespace grainscope::graph

#endif
