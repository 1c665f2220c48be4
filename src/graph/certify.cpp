// What every algorithm asks of its arguments; proofs that an answer is right, without a second run of the
// algorithm, and the count of components that one of them needs.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "answers.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "parallel.hpp"

namespace grainscope::graph {

void require_source(const Csr& graph, Vertex source) {
  if (source >= graph.vertices()) {
    throw UsageError("graph " + graph.name + " has no vertex " + std::to_string(source) + ": it has " +
                     std::to_string(graph.vertices()) + " vertices, counted from 0");
  }
}

void require_undirected(const Csr& graph, const std::string& what) {
  if (graph.directed) {
    throw UsageError(what + " is for undirected graphs, and " + graph.name +
                     " is directed: labels that follow edges one way would not be components");
  }
}

void require_weights(const Csr& graph, const std::string& what) {
  if (!graph.weighted() && graph.edges() != 0) {
    throw UsageError(what + " needs weights, and graph " + graph.name + " has none");
  }
}

void require_an_entry_each(const Csr& graph, std::uint64_t entries, const std::string& what) {
  if (entries != graph.vertices()) {
    throw FailedError(what + ": " + std::to_string(entries) + " entries for the " +
                      std::to_string(graph.vertices()) + " vertices of graph " + graph.name);
  }
}

void require_in_edges(const Csr& graph, const Csr& in_edges) {
  if (in_edges.vertices() != graph.vertices() || in_edges.edges() != graph.edges()) {
    throw UsageError("the in-edges of graph " + graph.name + " are " + std::to_string(in_edges.edges()) +
                     " entries of " + std::to_string(in_edges.vertices()) + " vertices, its out-edges " +
                     std::to_string(graph.edges()) + " of " + std::to_string(graph.vertices()));
  }
}

Reached reached_by(const Csr& graph, std::span<const std::uint32_t> depths) {
  require_an_entry_each(graph, depths.size(), "bfs");
  Edge entries = 0;
  std::uint64_t vertices = 0;
#pragma omp parallel for reduction(+ : entries, vertices) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const bool reached = depths[v] != kUnreached;
    vertices += reached ? 1 : 0;
    entries += reached ? graph.degree(v) : 0;
  }
  return {vertices, entries};
}

namespace {

// A mark a vertex, none at first; any thread may set any mark at any time.
class VertexMarks {
 public:
  explicit VertexMarks(Vertex vertices) : marks_(vertices) {}

  [[nodiscard]] bool operator[](Vertex v) const {
    return std::atomic_ref(marks_[v]).load(std::memory_order_relaxed) != 0;
  }
  // Writes only what is not yet marked: most are marked often, and a write takes the line from the others.
  void set(Vertex v) {
    if (!(*this)[v]) {
      std::atomic_ref(marks_[v]).store(1, std::memory_order_relaxed);
    }
  }

 private:
  HostArray<std::uint8_t> marks_;  // a byte each: setting a bit would need a read-modify-write
};

// Levels from here on are counted together and always read through in-edges: a graph that is so deep has no
// two levels that hold most of it.
constexpr std::size_t kDeep = 254;
constexpr std::size_t kNowhere = 255;  // what is not reached
using Entries = std::array<std::uint64_t, 256>;

struct Counted {
  Entries out{};
  Entries in{};
};

Counted count_levels(const Csr& graph, const Csr& in_edges, std::span<const std::uint32_t> depths) {
  Counted counted;
  std::uint64_t* out = counted.out.data();
  std::uint64_t* in = counted.in.data();
#pragma omp parallel for reduction(+ : out[:256], in[:256]) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    const std::size_t level = depths[v] == kUnreached ? kNowhere : std::min<std::size_t>(depths[v], kDeep);
    out[level] += graph.degree(v);
    in[level] += in_edges.degree(v);
  }
  return counted;
}

}  // namespace

std::uint64_t cheapest_cut(const Csr& graph, const Csr& in_edges, std::span<const std::uint32_t> depths) {
  const Counted counted = count_levels(graph, in_edges, depths);
  std::uint64_t best = kAllLevels;
  std::uint64_t least = graph.edges() - counted.out[kNowhere];
  std::uint64_t below = 0;
  std::uint64_t above = in_edges.edges() - counted.in[0] - counted.in[1];
  for (std::size_t level = 0; level + 2 <= kDeep; ++level) {
    if (below + above < least) {
      least = below + above;
      best = level;
    }
    below += counted.out[level];
    above -= counted.in[level + 2];
  }
  return best;
}

Vertex most_frequent_label(const Csr& graph, std::span<const Vertex> labels) {
  constexpr Edge kSamples = 1024;
  std::vector<Vertex> seen;
  for (Edge i = 0; i < kSamples && graph.edges() != 0; ++i) {
    seen.push_back(
        labels[graph.targets[graph.edges() / kSamples * i + graph.edges() % kSamples * i / kSamples]]);
  }
  std::sort(seen.begin(), seen.end());
  Vertex best = 0;
  std::size_t most = 0;
  for (auto first = seen.begin(); first != seen.end();) {
    const auto last = std::upper_bound(first, seen.end(), *first);
    if (const auto times = static_cast<std::size_t>(last - first); times > most) {
      most = times;
      best = *first;
    }
    first = last;
  }
  return best;
}

// How many connected components there are, by a parallel union-find that leaves most edges of the largest
// component unread: first every vertex is joined to its first neighbours, which nearly always makes the
// largest component, then only vertices outside of it read the rest of their lists. Source: Afforest (Sutton,
// Ben-Nun, Barak, IPDPS 2018).
std::uint64_t count_components(const Csr& graph) {
  constexpr std::size_t kFirstNeighbours = 2;
  require_undirected(graph, "cc");
  Forest forest(graph.vertices());
  const auto join_all = [&](Vertex v, std::span<const Vertex> neighbours) {
    for (const Vertex u : neighbours) {
      forest.join(v, u);
    }
  };
  for_all(graph, [&](Vertex v) {
    const auto neighbours = graph.neighbours(v);
    join_all(v, neighbours.first(std::min(kFirstNeighbours, neighbours.size())));
  });
  forest.flatten();
  const Vertex largest = most_frequent_label(graph, forest.parents());
  for_all(graph, [&](Vertex v) {
    const auto neighbours = graph.neighbours(v);
    if (neighbours.size() > kFirstNeighbours && forest.parent(v) != largest) {
      join_all(v, neighbours.subspan(kFirstNeighbours));
    }
  });
  std::uint64_t roots = 0;
#pragma omp parallel for reduction(+ : roots) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    roots += forest.parent(v) == v ? 1 : 0;
  }
  return roots;
}

// Holds bfs depths to account without a second search. Depths are right if and only if the source, and it
// alone, has depth 0, no edge leads more than one level down, and every other reached vertex has an
// in-neighbour one level nearer: the last makes each depth the length of a path, the second makes it the
// shortest. Lists in which no edge can skip a level are not read (cheapest_cut).
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
  return kProofOfDepths;
}

std::string certify_parents(const Csr& graph, const Csr& in_edges, Vertex source,
                            std::span<const std::uint32_t> depths, std::span<const Vertex> parents) {
  require_source(graph, source);
  require_in_edges(graph, in_edges);
  require_an_entry_each(graph, depths.size(), "bfs");
  require_an_entry_each(graph, parents.size(), "bfs's parents");
  const auto is_right = [&](Vertex v) {
    const Vertex parent = parents[v];
    if (depths[v] == kUnreached || v == source) {
      return parent == (v == source ? source : kUnreached);
    }
    const auto neighbours = in_edges.neighbours(v);
    return parent < graph.vertices() && depths[parent] + 1 == depths[v] &&
           std::find(neighbours.begin(), neighbours.end(), parent) != neighbours.end();
  };
  Vertex wrong = graph.vertices();
#pragma omp parallel for reduction(min : wrong) schedule(dynamic, 4096) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    wrong = std::min(wrong, is_right(v) ? graph.vertices() : v);
  }
  if (wrong < graph.vertices()) {
    throw FailedError("bfs on " + graph.name + " from " + std::to_string(source) + ": the parent of " +
                      std::to_string(wrong) + " cannot be " + std::to_string(parents[wrong]));
  }
  return "every parent: an in-neighbour one level nearer, of the source itself, of what is not reached none";
}

// Holds sssp distances to account without a second search. Distances are right if and only if the source has
// 0, no edge can relax, and every other reached vertex has a tight in-edge (one over which its distance is
// exactly its neighbour's and the weight) from a vertex that is right itself. A tight edge of positive weight
// comes from a vertex that is nearer, so one is proof enough; only edges of weight 0 could vouch for each
// other in a circle. Every edge is judged once: of an undirected graph from one end, both ways; of a directed
// one from where it leaves.
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
  return kProofOfDistances;
}

// Holds labels of components to account. Labels are right if and only if they are equal across every edge,
// every label is a vertex that labels itself and no higher than those that carry it, and there are as many as
// components. An edge whose ends differ has an end outside the component that holds most edges, so the lists
// inside it are not read.
namespace {

[[noreturn]] void refuse(const char* algorithm, const Csr& graph, const std::string& why) {
  throw FailedError(std::string(algorithm) + " on " + graph.name + ": " + why);
}

std::string label_of(Vertex v, std::span<const Vertex> labels) {
  return "vertex " + std::to_string(v) + " has label " + std::to_string(labels[v]);
}

void check_labels(const Csr& graph, std::span<const Vertex> labels) {
  const auto wrong =
      first_wrong(graph, [&](Vertex v) { return labels[v] > v || labels[labels[v]] != labels[v]; });
  if (!wrong) {
    return;
  }
  if (labels[*wrong] > *wrong) {
    refuse("cc", graph, label_of(*wrong, labels) + ", which is not the lowest of its component");
  }
  refuse("cc", graph, label_of(*wrong, labels) + ", but " + label_of(labels[*wrong], labels));
}

void check_edges(const Csr& graph, std::span<const Vertex> labels) {
  const Vertex largest = most_frequent_label(graph, labels);
  const auto stranger = [&](Vertex v) -> const Vertex* {
    for (const Vertex& u : graph.neighbours(v)) {
      if (labels[u] != labels[v]) {
        return &u;
      }
    }
    return nullptr;
  };
  const auto wrong =
      first_wrong(graph, [&](Vertex v) { return labels[v] != largest && stranger(v) != nullptr; });
  if (wrong) {
    refuse(
        "cc", graph,
        label_of(*wrong, labels) + ", but an edge joins it to where " + label_of(*stranger(*wrong), labels));
  }
}

void check_count(const Csr& graph, std::uint64_t components, std::span<const Vertex> labels) {
  std::uint64_t found = 0;
#pragma omp parallel for reduction(+ : found) if (graph.vertices() > kFewVertices)
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    found += labels[v] == v ? 1 : 0;
  }
  if (found != components) {
    refuse("cc", graph, std::to_string(found) + " labels for " + std::to_string(components) + " components");
  }
}

}  // namespace

std::string certify_cc(const Csr& graph, std::uint64_t components, std::span<const Vertex> labels) {
  require_undirected(graph, "cc");
  require_an_entry_each(graph, labels.size(), "cc");
  check_labels(graph, labels);
  check_edges(graph, labels);
  check_count(graph, components, labels);
  return "every label: equal across every edge, the lowest vertex that carries it, as many as the " +
         std::to_string(components) + " components that a union-find counts";
}

// Holds PageRank to account by one more step in double precision: by how much it changes the ranks in all
// bounds how far they are from the true ones (at most 1 / 0.15 times as far).
namespace {

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// What each vertex hands out along each of its edges.
HostArray<double> shares_of(const Csr& graph, std::span<const float> ranks) {
  HostArray<double> shares(graph.vertices());
  const auto no_rank = first_wrong(graph, [&](Vertex v) {
    shares[v] = share_of_rank(ranks[v], graph.degree(v));
    return !std::isfinite(ranks[v]) || ranks[v] < 0;
  });
  if (no_rank) {
    refuse("pr", graph,
           "the rank of vertex " + std::to_string(*no_rank) + " is " + short_text(ranks[*no_rank]));
  }
  return shares;
}

}  // namespace

std::string certify_pr(const Csr& graph, const Csr& in_edges, std::span<const float> ranks,
                       double tolerance) {
  require_in_edges(graph, in_edges);
  require_an_entry_each(graph, ranks.size(), "pr");
  const HostArray<double> shares = shares_of(graph, ranks);
  const double teleport = (1 - kDamping) / static_cast<double>(graph.vertices());
  HostArray<double> next(graph.vertices());
  const double change = sum_of(in_edges, [&](Vertex v) {
    next[v] = teleport;
    for (const Vertex u : in_edges.neighbours(v)) {
      next[v] += shares[u];
    }
    return std::abs(next[v] - ranks[v]);
  });
  if (!(change < tolerance)) {
    refuse("pr", graph,
           "one more step changes the ranks by " + short_text(change) + " in all, and less than " +
               short_text(tolerance) + " is asked for");
  }
  // The sum says little of one vertex among many: a rank that was never made is small beside all.
  const auto far = first_wrong(graph, [&](Vertex v) { return is_far(ranks[v], next[v]); });
  if (far) {
    refuse("pr", graph,
           "the rank of vertex " + std::to_string(*far) + " is " + short_text(ranks[*far]) +
               ", and one more step makes it " + short_text(next[*far]));
  }
  return proof_of_ranks(change, tolerance);
}

std::string proof_of_ranks(double change, double tolerance) {
  return "one more step in double precision changes the ranks by " + short_text(change) +
         " in all, less than " + short_text(tolerance) + ", and none by a factor of " + short_text(kFarRank);
}

}  // namespace grainscope::graph
