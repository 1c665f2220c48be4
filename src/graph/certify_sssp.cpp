// Holds sssp distances to account without a second search. Distances are right if and only if the source has
// 0, no edge can relax, and every other reached vertex has a tight in-edge (one over which its distance is
// exactly its neighbour's and the weight) from a vertex that is right itself. A tight edge of positive weight
// comes from a vertex that is nearer, so one is proof enough; only edges of weight 0 could vouch for each
// other in a circle. Every edge is judged once: of an undirected graph from one end, both ways; of a directed
// one from where it leaves.

#include <atomic>

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "vertex_marks.hpp"

namespace grainscope::graph {
namespace {

class SsspCertificate {
 public:
  SsspCertificate(const Csr& graph, Vertex source, std::span<const std::uint32_t> distances)
      : graph_(graph), source_(source), distances_(distances), proven_(graph.vertices()) {
    proven_.set(source);
  }

  // Throws FailedError for the lowest vertex that proves the distances wrong.
  void certify() {
    const bool directed = graph_.directed;
    if (const auto v = first_wrong(
            graph_, [&](Vertex u) { return directed ? !judge_out_edges(u) : !judge_lower_half(u); })) {
      explain_relaxed(*v);
    }
    const auto unproven = [this](Vertex v) { return reached(v) && !proven_[v]; };
    auto loose = first_wrong(graph_, unproven);
    if (loose && weightless_.load(std::memory_order_relaxed)) {
      follow_weightless();
      loose = first_wrong(graph_, unproven);
    }
    if (loose) {
      refuse(distance_of(*loose) + ", and no edge leads there that is as long as the difference");
    }
  }

 private:
  [[nodiscard]] bool reached(Vertex v) const { return distances_[v] != kUnreached; }

  // A tight edge that ends at `v`.
  void note_tight(Vertex v, Weight weight) {
    if (weight != 0) {
      proven_.set(v);
    } else if (!weightless_.load(std::memory_order_relaxed)) {
      weightless_.store(true, std::memory_order_relaxed);
    }
  }

  // Whether no edge of an undirected graph between v and a lower vertex relaxes, either way.
  bool judge_lower_half(Vertex v) {
    const std::int64_t here = distances_[v];
    const bool outside = !reached(v);
    bool relaxes = false;
    const Weight* const weights = graph_.weights_of(v).data();
    const auto neighbours = graph_.neighbours(v);
    for (std::size_t i = 0; i < neighbours.size() && neighbours[i] < v; ++i) {
      const std::int64_t there = distances_[neighbours[i]];
      const std::int64_t length = weights[i];
      const std::int64_t further = there - here;
      relaxes |= (there == kUnreached) != outside || further > length || -further > length;
      if (further == length) {
        note_tight(neighbours[i], weights[i]);
      }
      if (-further == length) {
        note_tight(v, weights[i]);
      }
    }
    return !relaxes;
  }

  // Whether no edge from v relaxes.
  bool judge_out_edges(Vertex v) {
    if (!reached(v)) {
      return true;
    }
    const std::uint64_t here = distances_[v];
    bool relaxes = false;
    const Weight* const weights = graph_.weights_of(v).data();
    const auto neighbours = graph_.neighbours(v);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const std::uint64_t there = distances_[neighbours[i]];
      relaxes |= !reached(neighbours[i]) || here + weights[i] < there;
      if (here + weights[i] == there) {
        note_tight(neighbours[i], weights[i]);
      }
    }
    return !relaxes;
  }

  // Proves along edges of weight 0 what they join to proven vertices. Serial: few graphs have such edges.
  void follow_weightless() {
    std::vector<Vertex> stack;
    for (Vertex v = 0; v < graph_.vertices(); ++v) {
      if (proven_[v]) {
        stack.push_back(v);
      }
    }
    while (!stack.empty()) {
      const Vertex v = stack.back();
      stack.pop_back();
      const auto neighbours = graph_.neighbours(v);
      const auto weights = graph_.weights_of(v);
      for (std::size_t i = 0; i < neighbours.size(); ++i) {
        const Vertex u = neighbours[i];
        if (weights[i] == 0 && distances_[u] == distances_[v] && !proven_[u]) {
          proven_.set(u);
          stack.push_back(u);
        }
      }
    }
  }

  [[nodiscard]] std::string distance_of(Vertex v) const {
    return "vertex " + std::to_string(v) +
           (reached(v) ? " has distance " + std::to_string(distances_[v]) : std::string(" is not reached"));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw FailedError("sssp from " + std::to_string(source_) + " on " + graph_.name + ": " + why);
  }

  // An edge from v relaxes, of an undirected graph perhaps one to it: says which.
  [[noreturn]] void explain_relaxed(Vertex v) const {
    const auto neighbours = graph_.neighbours(v);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const Vertex u = neighbours[i];
      const Weight weight = graph_.weights_of(v)[i];
      explain_edge(v, u, weight);
      if (!graph_.directed) {
        explain_edge(u, v, weight);
      }
    }
    refuse("the distances changed while they were checked");
  }
  void explain_edge(Vertex from, Vertex to, Weight weight) const {
    if (reached(from) && (!reached(to) || std::uint64_t{distances_[from]} + weight < distances_[to])) {
      refuse(distance_of(to) + ", but an edge of weight " + std::to_string(weight) + " leads there and " +
             distance_of(from));
    }
  }

  const Csr& graph_;
  Vertex source_;
  std::span<const std::uint32_t> distances_;
  VertexMarks proven_;                   // whose distance is the length of a path, given that nearer ones are
  std::atomic<bool> weightless_{false};  // a tight edge of weight 0 was met
};

}  // namespace

std::string certify_sssp(const Csr& graph, Vertex source, std::span<const std::uint32_t> distances) {
  require_source(graph, source);
  require_weights(graph, "sssp");
  require_an_entry_each(graph, distances.size(), "sssp");
  if (distances[source] != 0) {
    throw FailedError("sssp on " + graph.name + ": the source " + std::to_string(source) + " has distance " +
                      std::to_string(distances[source]) + ", not 0");
  }
  SsspCertificate(graph, source, distances).certify();
  return "every distance: the source has 0, no edge can relax, every other reached vertex has an in-edge as "
         "long as the difference";
}

}  // namespace grainscope::graph
