// The algorithms as sequences of frontiers, by all threads; the same whatever their number.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "answers.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/csr.hpp"
#include "parallel.hpp"

namespace grainscope::graph {
namespace {

// A set of vertices, a bit each, that any number of threads fill at once and that comes out in order.
class VertexBits {
 public:
  explicit VertexBits(Vertex vertices);

  [[nodiscard]] bool has(Vertex v) const;
  void add(Vertex v);

  // The vertices in ascending order; valid until the next call. All threads.
  [[nodiscard]] std::span<const Vertex> list();
  void clear();
  // Adds what another set over the same vertices holds.
  void add_all(const VertexBits& other);

 private:
  HostArray<std::uint64_t> words_;
  HostArray<Vertex> listed_;
};

constexpr std::uint64_t kBlockWords = 2048;  // what one thread counts and writes at a time

VertexBits::VertexBits(Vertex vertices) : words_((std::uint64_t{vertices} + 63) / 64), listed_(vertices) {}

bool VertexBits::has(Vertex v) const {
  return (std::atomic_ref(words_[v / 64]).load(std::memory_order_relaxed) >> (v % 64) & 1U) != 0;
}

void VertexBits::add(Vertex v) {
  if (!has(v)) {
    std::atomic_ref(words_[v / 64]).fetch_or(std::uint64_t{1} << (v % 64), std::memory_order_relaxed);
  }
}

std::span<const Vertex> VertexBits::list() {
  const std::uint64_t blocks = (words_.size() + kBlockWords - 1) / kBlockWords;
  const auto words_of = [&](std::uint64_t block) {
    const std::uint64_t first = block * kBlockWords;
    return words_.span().subspan(first, std::min(kBlockWords, words_.size() - first));
  };
  std::vector<std::uint64_t> starts(blocks + 1);
#pragma omp parallel for if (blocks > 1)
  for (std::uint64_t block = 0; block < blocks; ++block) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words_of(block)) {
      count += static_cast<std::uint64_t>(std::popcount(word));
    }
    starts[block + 1] = count;
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
#pragma omp parallel for if (blocks > 1)
  for (std::uint64_t block = 0; block < blocks; ++block) {
    Vertex* next = listed_.data() + starts[block];
    std::uint64_t base = block * kBlockWords * 64;
    for (std::uint64_t word : words_of(block)) {
      for (; word != 0; word &= word - 1) {
        *next++ = static_cast<Vertex>(base + static_cast<std::uint64_t>(std::countr_zero(word)));
      }
      base += 64;
    }
  }
  return {listed_.data(), starts[blocks]};
}

void VertexBits::clear() {
  std::fill(words_.begin(), words_.end(), 0);
}

void VertexBits::add_all(const VertexBits& other) {
  for (std::uint64_t i = 0; i < words_.size(); ++i) {
    words_[i] |= other.words_[i];
  }
}

// bfs, sssp and cc as sequences of frontiers. A level reads what the level before it left (the values of
// active vertices are set aside before any is changed), so the sequence is the same for any number of
// threads.

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

// PageRank by residuals as a sequence of frontiers. An active vertex takes its residual into its rank and
// hands 0.85 of it out along its edges. Residuals begin at 0.15 / V and are all that one more step would
// change, so what is left of them in all is the certificate's figure. Who receives adds up (in the order of
// its list), rather than who hands out: without atomics, and the same for any number of threads.
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
