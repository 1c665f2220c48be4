#ifndef GRAINSCOPE_SRC_GRAPH_ANSWERS_HPP
#define GRAINSCOPE_SRC_GRAPH_ANSWERS_HPP

// What oracles, certificates and frontiers share: what is asked of arguments, and components by a forest.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "parallel.hpp"

namespace grainscope::graph {

// Throws UsageError for a source that is no vertex of the graph.
void require_source(const Csr& graph, Vertex source);
// Throws UsageError for a directed graph: `what` has no meaning there.
void require_undirected(const Csr& graph, const std::string& what);
// Throws UsageError for a graph without weights.
void require_weights(const Csr& graph, const std::string& what);
// Throws FailedError where an answer has not one entry a vertex.
void require_an_entry_each(const Csr& graph, std::uint64_t entries, const std::string& what);
// Throws UsageError unless `in_edges` can be what an edge's other end sees: as many vertices and entries.
void require_in_edges(const Csr& graph, const Csr& in_edges);

// What the certificates of searches say that they proved.
inline constexpr const char* kProofOfDepths =
    "every depth: the source alone has 0, no edge leads more than one level down, every other reached vertex "
    "has an in-neighbour one level nearer";
inline constexpr const char* kProofOfDistances =
    "every distance: the source has 0, no edge can relax, every other reached vertex has an in-edge as long "
    "as the difference";

// And those of ranks, of which one more step changes so much in all. Ranks that are known to the tolerance
// change by far less than by this factor, each, in one more step.
inline constexpr double kFarRank = 2;
[[nodiscard]] std::string proof_of_ranks(double change, double tolerance);
// What a vertex hands out along each of its edges.
[[nodiscard]] inline double share_of_rank(float rank, Edge degree) {
  return degree == 0 ? 0 : kDamping * rank / static_cast<double>(degree);
}
// Whether one more step leaves a rank where it is, by that factor.
[[nodiscard]] inline bool is_far(float rank, double next) {
  return rank > kFarRank * next || next > kFarRank * rank;
}

// The label that most of a sample of the edges' ends carry; labels are below V. A guess at which component
// is the largest, for who may leave its edges unread: a wrong guess costs time, nothing else.
[[nodiscard]] Vertex most_frequent_label(const Csr& graph, std::span<const Vertex> labels);

// Where a bfs certificate changes from reading out-edges to reading in-edges.

// An edge can only skip a level if its ends lie two levels apart or more. Who reads all out-edges of the
// levels below `level` and all in-edges of those above level + 1 (and of what is not reached) sees every such
// edge: the lists of two neighbouring levels, and in most graphs of most vertices, need not be read.
inline constexpr std::uint64_t kAllLevels = UINT64_MAX;  // only out-edges are read

// The level for which the fewest entries are read.
[[nodiscard]] std::uint64_t cheapest_cut(const Csr& graph, const Csr& in_edges,
                                         std::span<const std::uint32_t> depths);

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
