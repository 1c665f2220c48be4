// PageRank by residuals as a sequence of frontiers. An active vertex takes its residual into its rank and
// hands 0.85 of it out along its edges. Residuals begin at 0.15 / V and are all that one more step would
// change, so what is left of them in all is the certificate's figure. Who receives adds up (in the order of
// its list), rather than who hands out: without atomics, and the same for any number of threads.

#include "frontiers_pr.hpp"

#include "edge_chunks.hpp"
#include "grainscope/graph/build.hpp"
#include "vertex_bits.hpp"

namespace grainscope::graph {
namespace {

class Residuals {
 public:
  explicit Residuals(const Csr& graph)
      : graph_(graph),
        transposed_(graph.directed ? transpose(graph) : Csr{}),
        in_edges_(graph.directed ? transposed_ : graph),
        threshold_(kRankTolerance / (2.0 * graph.vertices())),
        residuals_(graph.vertices()),
        shares_(graph.vertices()),
        above_(graph.vertices()) {
    const double first = (1 - kDamping) / graph.vertices();
    left_ = sum_of(graph, [&](Vertex v) { return keep(v, first); });
  }

  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] std::span<const Vertex> active() { return above_.list(); }

  // One level: every vertex above the threshold hands out.
  void push() {
    for_all(graph_, [this](Vertex v) { hand_out(v); });
    above_.clear();
    left_ = sum_of(in_edges_, [this](Vertex v) {
      double received = residuals_[v];
      for (const Vertex u : in_edges_.neighbours(v)) {
        received += shares_[u];
      }
      return keep(v, received);
    });
  }

 private:
  double keep(Vertex v, double residual) {
    residuals_[v] = residual;
    if (residual > threshold_) {
      above_.add(v);
    }
    return residual;
  }

  void hand_out(Vertex v) {
    const Edge degree = graph_.degree(v);
    const bool active = above_.has(v);
    shares_[v] = active && degree != 0 ? kDamping * residuals_[v] / static_cast<double>(degree) : 0;
    if (active) {
      residuals_[v] = 0;
    }
  }

  const Csr& graph_;
  const Csr transposed_;
  const Csr& in_edges_;
  double threshold_;
  HostArray<double> residuals_;
  HostArray<double> shares_;
  VertexBits above_;
  double left_ = 0;
};

}  // namespace

// Ends: what lies below the threshold comes to less than half of the tolerance in all.
void pr_levels(const Csr& graph, const LevelVisitor& visit) {
  if (graph.vertices() == 0) {
    return;
  }
  Residuals residuals(graph);
  while (residuals.left() >= kRankTolerance) {
    visit(residuals.active());
    residuals.push();
  }
}

}  // namespace grainscope::graph
