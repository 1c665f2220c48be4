// bfs, sssp and cc as sequences of frontiers. A level reads what the level before it left (the values of
// active vertices are set aside before any is changed), so the sequence is the same for any number of
// threads.

#include "grainscope/graph/frontiers.hpp"

#include <algorithm>
#include <atomic>

#include "arguments.hpp"
#include "edge_chunks.hpp"
#include "frontiers_pr.hpp"
#include "grainscope/core/error.hpp"
#include "vertex_bits.hpp"

namespace grainscope::graph {
namespace {

constexpr std::size_t kFewActive = 256;  // so few lists are read before other threads wake

// work(i) for every place i of a frontier, in turns: neighbours in a frontier often differ in degree.
template <class Work>
void for_each_active(std::span<const Vertex> active, const Work& work) {
#pragma omp parallel for schedule(dynamic, 64) if (active.size() > kFewActive)
  for (std::size_t i = 0; i < active.size(); ++i) {
    work(i);
  }
}

// Whether `value` is less than what is there, which it then replaces.
bool lower_to(std::uint32_t& there, std::uint32_t value) {
  const std::atomic_ref slot(there);
  std::uint32_t seen = slot.load(std::memory_order_relaxed);
  while (value < seen) {
    if (slot.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void bfs_levels(const Csr& graph, Vertex source, const LevelVisitor& visit) {
  VertexBits seen(graph.vertices());
  VertexBits next(graph.vertices());
  next.add(source);
  for (auto active = next.list(); !active.empty(); active = next.list()) {
    visit(active);
    seen.add_all(next);
    next.clear();
    for_each_active(active, [&](std::size_t i) {
      for (const Vertex u : graph.neighbours(active[i])) {
        if (!seen.has(u)) {
          next.add(u);
        }
      }
    });
  }
}

// Values that only fall, from kUnreached, and whose vertices are active in the level after they fell.
class Falling {
 public:
  explicit Falling(Vertex vertices) : values_(vertices), before_(vertices), fell_(vertices) {
    std::fill(values_.begin(), values_.end(), kUnreached);
  }

  // The vertices whose value fell since the last call; their values are set aside.
  [[nodiscard]] std::span<const Vertex> next_level() {
    const auto active = fell_.list();
#pragma omp parallel for if (active.size() > kFewVertices)
    for (std::size_t i = 0; i < active.size(); ++i) {
      before_[i] = values_[active[i]];
    }
    fell_.clear();
    return active;
  }
  // What the i-th active vertex had when the level began.
  [[nodiscard]] std::uint32_t before(std::size_t i) const {
    return before_[i];
  }

  void offer(Vertex v, std::uint32_t value) {
    if (lower_to(values_[v], value)) {
      fell_.add(v);
    }
  }

  // Whether an edge leads from where there is a value to where there is none.
  [[nodiscard]] bool leaves_out_any(const Csr& graph) const {
    const auto has_value = [this](Vertex v) { return values_[v] != kUnreached; };
    return first_wrong(graph,
                       [&](Vertex v) {
                         const auto neighbours = graph.neighbours(v);
                         return has_value(v) && !std::all_of(neighbours.begin(), neighbours.end(), has_value);
                       })
        .has_value();
  }

 private:
  HostArray<std::uint32_t> values_;
  HostArray<std::uint32_t> before_;
  VertexBits fell_;
};

void sssp_levels(const Csr& graph, Vertex source, const LevelVisitor& visit) {
  Falling distances(graph.vertices());
  distances.offer(source, 0);
  std::atomic<bool> too_far{false};
  for (auto active = distances.next_level(); !active.empty(); active = distances.next_level()) {
    visit(active);
    for_each_active(active, [&](std::size_t i) {
      const auto neighbours = graph.neighbours(active[i]);
      const auto weights = graph.weights_of(active[i]);
      for (std::size_t edge = 0; edge < neighbours.size(); ++edge) {
        const std::uint64_t further = std::uint64_t{distances.before(i)} + weights[edge];
        if (further < kUnreached) {
          distances.offer(neighbours[edge], static_cast<std::uint32_t>(further));
        } else {
          too_far.store(true, std::memory_order_relaxed);
        }
      }
    });
  }
  if (too_far && distances.leaves_out_any(graph)) {
    throw UsageError("sssp on " + graph.name + ": distances reach beyond 32 bits, use smaller weights");
  }
}

void cc_levels(const Csr& graph, const LevelVisitor& visit) {
  require_undirected(graph, "cc");
  Falling labels(graph.vertices());
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    labels.offer(v, v);
  }
  for (auto active = labels.next_level(); !active.empty(); active = labels.next_level()) {
    visit(active);
    for_each_active(active, [&](std::size_t i) {
      for (const Vertex u : graph.neighbours(active[i])) {
        labels.offer(u, labels.before(i));
      }
    });
  }
}

}  // namespace

void run_levels(const Csr& graph, Algorithm algorithm, Vertex source, const LevelVisitor& visit) {
  switch (algorithm) {
    case Algorithm::bfs:
      require_source(graph, source);
      return bfs_levels(graph, source, visit);
    case Algorithm::sssp:
      require_source(graph, source);
      require_weights(graph, "sssp");
      return sssp_levels(graph, source, visit);
    case Algorithm::cc:
      return cc_levels(graph, visit);
    case Algorithm::pr:
      return pr_levels(graph, visit);
  }
}

}  // namespace grainscope::graph
