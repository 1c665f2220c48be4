// Holds bfs depths to account without a second search. Depths are right if and only if the source, and it
// alone, has depth 0, no edge leads more than one level down, and every other reached vertex has an
// in-neighbour one level nearer: the last makes each depth the length of a path, the second makes it the
// shortest. Lists in which no edge can skip a level are not read (levels_cut.hpp).

#include <algorithm>

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "levels_cut.hpp"
#include "vertex_marks.hpp"

namespace grainscope::graph {
namespace {

class BfsCertificate {
 public:
  BfsCertificate(const Csr& graph, const Csr& in_edges, Vertex source, std::span<const std::uint32_t> depths)
      : graph_(graph),
        in_edges_(in_edges),
        source_(source),
        depths_(depths),
        cut_(cheapest_cut(graph, in_edges, depths)),
        has_parent_(graph.vertices()) {}

  // Throws FailedError for the lowest vertex that proves the depths wrong.
  void certify() {
    // A vertex below the cut shows its out-neighbours that they have a parent, so the order matters.
    if (const auto v = first_wrong(graph_, [this](Vertex u) { return is_below(u) && !pushes(u); })) {
      explain_push(*v);
    }
    if (const auto v = first_wrong(in_edges_, [this](Vertex u) { return u != source_ && !holds(u); })) {
      explain_pull(*v);
    }
  }

 private:
  [[nodiscard]] bool reached(Vertex v) const { return depths_[v] != kUnreached; }
  [[nodiscard]] bool is_below(Vertex v) const { return reached(v) && depths_[v] < cut_; }

  // Whether no out-edge skips a level; tells the next level that it has parents here.
  bool pushes(Vertex v) {
    const std::uint64_t next = std::uint64_t{depths_[v]} + 1;
    bool skips = false;
    for (const Vertex u : graph_.neighbours(v)) {
      skips |= depths_[u] > next;
      if (depths_[u] == next) {
        has_parent_.set(u);
      }
    }
    return !skips;
  }

  [[nodiscard]] bool holds(Vertex v) const {
    const std::uint32_t depth = depths_[v];
    if (depth == kUnreached) {
      return cut_ == kAllLevels || nearest(v) == kUnreached;
    }
    if (depth == 0) {
      return false;
    }
    if (depth <= cut_) {
      return has_parent_[v];
    }
    return depth == cut_ + 1 ? finds_parent(v) : nearest(v) == depth - 1;
  }

  // The least depth among the in-neighbours.
  [[nodiscard]] std::uint32_t nearest(Vertex v) const {
    std::uint32_t least = kUnreached;
    for (const Vertex u : in_edges_.neighbours(v)) {
      least = std::min(least, depths_[u]);
    }
    return least;
  }

  [[nodiscard]] bool finds_parent(Vertex v) const {
    const auto parents = in_edges_.neighbours(v);
    return std::any_of(parents.begin(), parents.end(),
                       [&](Vertex u) { return depths_[u] == depths_[v] - 1; });
  }

  [[nodiscard]] std::string depth_of(Vertex v) const {
    return "vertex " + std::to_string(v) +
           (reached(v) ? " has depth " + std::to_string(depths_[v]) : std::string(" is not reached"));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw FailedError("bfs from " + std::to_string(source_) + " on " + graph_.name + ": " + why);
  }

  [[noreturn]] void explain_push(Vertex v) const {
    for (const Vertex u : graph_.neighbours(v)) {
      if (depths_[u] > std::uint64_t{depths_[v]} + 1) {
        refuse(depth_of(u) + ", but an edge leads there and " + depth_of(v));
      }
    }
    refuse("the depths changed while they were checked");
  }

  [[noreturn]] void explain_pull(Vertex v) const {
    if (depths_[v] == 0) {
      refuse(depth_of(v) + " and is not the source");
    }
    for (const Vertex u : in_edges_.neighbours(v)) {
      if (reached(u) && (!reached(v) || std::uint64_t{depths_[u]} + 1 < depths_[v])) {
        refuse(depth_of(v) + ", but an edge leads there and " + depth_of(u));
      }
    }
    refuse(depth_of(v) + ", and no edge leads there from a vertex that is one nearer");
  }

  const Csr& graph_;
  const Csr& in_edges_;
  Vertex source_;
  std::span<const std::uint32_t> depths_;
  std::uint64_t cut_;
  VertexMarks has_parent_;  // of levels 1 to cut_
};

}  // namespace

std::string certify_bfs(const Csr& graph, const Csr& in_edges, Vertex source,
                        std::span<const std::uint32_t> depths) {
  require_source(graph, source);
  require_in_edges(graph, in_edges);
  require_an_entry_each(graph, depths.size(), "bfs");
  if (depths[source] != 0) {
    throw FailedError("bfs on " + graph.name + ": the source " + std::to_string(source) + " has depth " +
                      std::to_string(depths[source]) + ", not 0");
  }
  BfsCertificate(graph, in_edges, source, depths).certify();
  return "every depth: the source alone has 0, no edge leads more than one level down, every other reached "
         "vertex has an in-neighbour one level nearer";
}

}  // namespace grainscope::graph
