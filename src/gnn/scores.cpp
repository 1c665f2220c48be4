// Scores of vertices, rankings by them, what a ranking hits, and a graph under its numbers.

#include "grainscope/gnn/scores.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"

namespace grainscope::gnn {
namespace {

using graph::Csr;
using graph::Edge;
using graph::Vertex;

// Changes are summed chunk by chunk, so that the sum does not depend on who summed what.
constexpr std::uint64_t kChunk = 4096;

// One page rank on its way: scores, and what each vertex gives to those that pull from it.
class Iteration {
 public:
  Iteration(const Csr& out_edges, const Csr& in_edges)
      : out_edges_(out_edges),
        in_edges_(in_edges),
        vertices_(out_edges.vertices()),
        scores_(vertices_),
        given_(vertices_),
        changes_((vertices_ + kChunk - 1) / kChunk) {
#pragma omp parallel for if (vertices_ > kChunk)
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      scores_[v] = 1.0 / static_cast<double>(vertices_);
    }
  }

  void weight(std::span<const Vertex> labelled) {
    const double weight = static_cast<double>(vertices_) / static_cast<double>(labelled.size());
    for (const Vertex v : labelled) {
      if (v >= vertices_) {
        throw UsageError("a label for vertex " + std::to_string(v) + " of " + std::to_string(vertices_));
      }
      scores_[v] *= weight;
    }
  }

  // Returns the sum of all changes.
  double run() {
#pragma omp parallel for if (vertices_ > kChunk)
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      const Edge degree = in_edges_.degree(static_cast<Vertex>(v));
      given_[v] = degree == 0 ? 0 : scores_[v] / static_cast<double>(degree);
    }
#pragma omp parallel for schedule(dynamic) if (changes_.size() > 1)
    for (std::uint64_t chunk = 0; chunk < changes_.size(); ++chunk) {
      changes_[chunk] = run_chunk(chunk * kChunk, std::min(vertices_, (chunk + 1) * kChunk));
    }
    double change = 0;
    for (const double part : changes_) {
      change += part;
    }
    return change;
  }

  [[nodiscard]] HostArray<float> scores() const {
    HostArray<float> rounded(vertices_);
#pragma omp parallel for if (vertices_ > kChunk)
    for (std::uint64_t v = 0; v < vertices_; ++v) {
      rounded[v] = static_cast<float>(scores_[v]);
    }
    return rounded;
  }

 private:
  double run_chunk(std::uint64_t first, std::uint64_t last) const {
    const double base = (1 - kDamping) / static_cast<double>(vertices_);
    double change = 0;
    for (std::uint64_t v = first; v < last; ++v) {
      double sum = 0;
      for (const Vertex target : out_edges_.neighbours(static_cast<Vertex>(v))) {
        sum += given_[target];
      }
      const double score = base + kDamping * sum;
      change += std::abs(score - scores_[v]);
      scores_[v] = score;
    }
    return change;
  }

  const Csr& out_edges_;
  const Csr& in_edges_;
  std::uint64_t vertices_;
  HostArray<double> scores_;
  HostArray<double> given_;
  std::vector<double> changes_;
};

// What all vertices push to those from `first` up to `last`, in the order of the pushing vertices.
void push_to(const Csr& in_edges, const std::vector<double>& scores, std::vector<double>& next,
             std::uint64_t first, std::uint64_t last) {
  for (Vertex v = 0; v < in_edges.vertices(); ++v) {
    const auto list = in_edges.neighbours(v);
    const auto begin = std::lower_bound(list.begin(), list.end(), first);
    if (begin == list.end() || *begin >= last) {
      continue;
    }
    const double share = kDamping * scores[v] / static_cast<double>(list.size());
    for (auto source = begin; source != list.end() && *source < last; ++source) {
      next[*source] += share;
    }
  }
}

}  // namespace

const char* name(Score score) {
  switch (score) {
    case Score::degree:
      return "degree";
    case Score::reverse_pagerank:
      return "reverse_pagerank";
    case Score::weighted_reverse_pagerank:
      return "weighted_reverse_pagerank";
    case Score::presampled:
      return "presampled";
    case Score::optimal:
      return "optimal";
  }
  return "?";
}

HostArray<std::uint32_t> degree_scores(const Csr& out_edges) {
  HostArray<std::uint32_t> scores(out_edges.vertices());
#pragma omp parallel for if (scores.size() > kChunk)
  for (std::uint64_t v = 0; v < scores.size(); ++v) {
    scores[v] = static_cast<std::uint32_t>(out_edges.degree(static_cast<Vertex>(v)));
  }
  return scores;
}

PageRank reverse_pagerank(const Csr& out_edges, const Csr& in_edges) {
  Iteration iteration(out_edges, in_edges);
  PageRank result;
  double change = 0;
  do {
    change = iteration.run();
    ++result.iterations;
  } while (change >= kConverged && result.iterations < kMostIterations);
  result.scores = iteration.scores();
  return result;
}

PageRank weighted_reverse_pagerank(const Csr& out_edges, const Csr& in_edges,
                                   std::span<const Vertex> labelled) {
  if (labelled.empty()) {
    throw UsageError("a weighted reverse page rank of a graph in which nothing is labelled");
  }
  Iteration iteration(out_edges, in_edges);
  iteration.weight(labelled);
  PageRank result;
  for (; result.iterations < kWeightedIterations; ++result.iterations) {
    iteration.run();
  }
  result.scores = iteration.scores();
  return result;
}

void count_accesses(std::span<const std::uint32_t> rows, std::span<std::uint32_t> counts) {
  bool good = true;
#pragma omp parallel for reduction(&& : good) if (rows.size() > 65536)
  for (std::size_t i = 0; i < rows.size(); ++i) {
    good = good && rows[i] < counts.size();
    if (rows[i] < counts.size()) {
      std::atomic_ref(counts[rows[i]]).fetch_add(1, std::memory_order_relaxed);
    }
  }
  if (!good) {
    throw UsageError("counting accesses to " + std::to_string(counts.size()) +
                     " rows: one asked for is not among them");
  }
}

HostArray<std::uint32_t> access_counts(const Trace& trace, Vertex vertices) {
  HostArray<std::uint32_t> counts(vertices);
  count_accesses(trace.rows, counts.span());
  return counts;
}

std::vector<double> pushed_reverse_pagerank(const Csr& in_edges, std::span<const Vertex> labelled,
                                            int iterations) {
  const auto vertices = static_cast<double>(in_edges.vertices());
  std::vector<double> scores(in_edges.vertices(), 1 / vertices);
  for (const Vertex v : labelled) {
    scores[v] *= vertices / static_cast<double>(labelled.size());
  }
  const auto ranges = static_cast<std::uint64_t>(omp_get_max_threads());
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::vector<double> next(scores.size(), (1 - kDamping) / vertices);
#pragma omp parallel for schedule(static, 1) if (scores.size() > kChunk)
    for (std::uint64_t range = 0; range < ranges; ++range) {
      push_to(in_edges, scores, next, in_edges.vertices() * range / ranges,
              in_edges.vertices() * (range + 1) / ranges);
    }
    scores = std::move(next);
  }
  return scores;
}

// Ranking by score: a radix sort from the lowest digit up, stable, by all threads.

namespace {

using graph::Vertex;

constexpr int kDigitBits = 11;
constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
constexpr std::uint64_t kLeastChunk = 8192;
constexpr std::uint64_t kMostChunks = 64;

struct Ranked {
  std::uint32_t key;  // the lower, the earlier
  Vertex vertex;
};

// Entries are cut into chunks, the same for any number of threads.
class Sorter {
 public:
  explicit Sorter(std::uint64_t size)
      : size_(size),
        chunks_(std::clamp<std::uint64_t>(size / kLeastChunk, 1, kMostChunks)),
        counts_(chunks_) {}

  // Sorts `from` by a digit into `to`; false, and nothing is done, where all have the same.
  bool sort(const HostArray<Ranked>& from, const HostArray<Ranked>& to, int shift) {
#pragma omp parallel for schedule(dynamic) if (chunks_ > 1)
    for (std::uint64_t chunk = 0; chunk < chunks_; ++chunk) {
      counts_[chunk].fill(0);
      for (std::uint64_t i = begin(chunk); i < begin(chunk + 1); ++i) {
        ++counts_[chunk][digit(from[i], shift)];
      }
    }
    std::uint64_t sum = 0;
    for (std::uint64_t value = 0; value < kDigits; ++value) {
      const std::uint64_t before = sum;
      for (auto& counts : counts_) {
        sum += std::exchange(counts[value], sum);
      }
      if (sum - before == size_) {
        return false;
      }
    }
#pragma omp parallel for schedule(dynamic) if (chunks_ > 1)
    for (std::uint64_t chunk = 0; chunk < chunks_; ++chunk) {
      for (std::uint64_t i = begin(chunk); i < begin(chunk + 1); ++i) {
        to[counts_[chunk][digit(from[i], shift)]++] = from[i];
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t begin(std::uint64_t chunk) const {
    return size_ * chunk / chunks_;
  }
  static std::uint64_t digit(const Ranked& entry, int shift) {
    return (entry.key >> shift) & (kDigits - 1);
  }

  std::uint64_t size_;
  std::uint64_t chunks_;
  std::vector<std::array<std::uint64_t, kDigits>> counts_;
};

template <class KeyOf>
std::vector<Vertex> ranked(std::uint64_t size, std::span<const Vertex> ties, const KeyOf& key_of) {
  HostArray<Ranked> entries(size);
  HostArray<Ranked> spare(size);
#pragma omp parallel for if (size > kLeastChunk)
  for (std::uint64_t i = 0; i < size; ++i) {
    const auto v = ties.empty() ? static_cast<Vertex>(i) : ties[i];
    entries[i] = {key_of(v), v};
  }
  Sorter sorter(size);
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    if (sorter.sort(entries, spare, shift)) {
      std::swap(entries, spare);
    }
  }
  std::vector<Vertex> order(size);
#pragma omp parallel for if (size > kLeastChunk)
  for (std::uint64_t i = 0; i < size; ++i) {
    order[i] = entries[i].vertex;
  }
  return order;
}

}  // namespace

std::vector<Vertex> ranking(std::span<const std::uint32_t> scores, std::span<const Vertex> ties) {
  if (!ties.empty() && ties.size() != scores.size()) {
    throw UsageError("ranking " + std::to_string(scores.size()) + " scores, ties in an order of " +
                     std::to_string(ties.size()));
  }
  return ranked(scores.size(), ties, [&](Vertex v) { return ~scores[v]; });
}

// Numbers that are not negative are ordered as their bits are.
std::vector<Vertex> ranking(std::span<const float> scores) {
  return ranked(scores.size(), {}, [&](Vertex v) { return ~std::bit_cast<std::uint32_t>(scores[v] + 0.0F); });
}

// Hit rates of a ranking.

namespace {

using graph::Vertex;

constexpr std::uint64_t kWorthThreads = 65536;

}  // namespace

std::vector<double> hit_rates(std::span<const std::uint32_t> counts, std::span<const Vertex> ranking,
                              std::span<const double> shares) {
  if (ranking.size() != counts.size()) {
    throw UsageError("hit rates of a ranking of " + std::to_string(ranking.size()) +
                     " rows for accesses to " + std::to_string(counts.size()));
  }
  const auto accesses = [&](std::uint64_t first, std::uint64_t last) {
    std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (last - first > kWorthThreads)
    for (std::uint64_t i = first; i < last; ++i) {
      sum += counts[ranking[i]];
    }
    return sum;
  };
  const auto all = static_cast<double>(accesses(0, counts.size()));
  std::vector<double> rates;
  rates.reserve(shares.size());
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1)) {
      throw UsageError("hit rates: " + std::to_string(share) + " is no share of rows");
    }
    const auto rows = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(counts.size())));
    rates.push_back(all == 0 ? 0 : static_cast<double>(accesses(0, rows)) / all);
  }
  return rates;
}

std::vector<Vertex> old_to_new(std::span<const Vertex> ranking) {
  std::vector<Vertex> map(ranking.size());
  std::vector<std::uint8_t> seen(ranking.size());
  bool good = true;
#pragma omp parallel for reduction(&& : good) if (ranking.size() > kWorthThreads)
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const bool inside = ranking[i] < ranking.size();
    good = good && inside && std::atomic_ref(seen[ranking[i]]).exchange(1, std::memory_order_relaxed) == 0;
    if (inside) {
      std::atomic_ref(map[ranking[i]]).store(static_cast<Vertex>(i), std::memory_order_relaxed);
    }
  }
  if (!good) {
    throw UsageError("a ranking of " + std::to_string(ranking.size()) +
                     " rows that is no permutation: a row is missing, or there twice");
  }
  return map;
}

// A graph under the numbers of a ranking: dissertation 4.2.2.

namespace {

using graph::Csr;
using graph::Edge;
using graph::Vertex;
using graph::Weight;

constexpr std::uint64_t kReorderChunk = 1024;  // vertices that a thread takes at a time
constexpr std::uint64_t kAhead = 16;           // entries whose new numbers are fetched in advance

void require_permutation(std::span<const Vertex> new_of_old, Vertex vertices) {
  bool good = new_of_old.size() == vertices;
  HostArray<std::uint8_t> taken(vertices);
#pragma omp parallel for reduction(&& : good) if (vertices > 65536)
  for (std::size_t v = 0; v < new_of_old.size(); ++v) {
    good = good && new_of_old[v] < vertices &&
           std::atomic_ref(taken[new_of_old[v]]).exchange(1, std::memory_order_relaxed) == 0;
  }
  if (!good) {
    throw UsageError("reordering " + std::to_string(vertices) + " vertices by a map of " +
                     std::to_string(new_of_old.size()) + " entries that is no permutation of them");
  }
}

// From degrees, entry v + 1 holding that of v, to offsets: sums of chunks, then within each.
void add_up(const HostArray<Edge>& offsets) {
  const std::uint64_t chunks = (offsets.size() + kReorderChunk - 1) / kReorderChunk;
  std::vector<Edge> begins(chunks);
#pragma omp parallel for if (chunks > 1)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const Edge* const first = offsets.data() + chunk * kReorderChunk;
    const Edge* const last = offsets.data() + std::min(offsets.size(), (chunk + 1) * kReorderChunk);
    for (const Edge* degree = first; degree < last; ++degree) {
      begins[chunk] += *degree;
    }
  }
  Edge sum = 0;
  for (Edge& begin : begins) {
    sum += std::exchange(begin, sum);
  }
#pragma omp parallel for if (chunks > 1)
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    Edge so_far = begins[chunk];
    for (std::uint64_t i = chunk * kReorderChunk; i < std::min(offsets.size(), (chunk + 1) * kReorderChunk);
         ++i) {
      so_far += offsets[i];
      offsets[i] = so_far;
    }
  }
}

void paste(const Csr& graph, std::span<const Vertex> new_of_old, const Csr& result, Vertex v) {
  const Edge begin = graph.offsets[v];
  const Edge degree = graph.degree(v);
  const Vertex* const from = graph.targets.data() + begin;
  Vertex* const to = result.targets.data() + result.offsets[new_of_old[v]];
  const Edge last = graph.edges() - begin;  // entries behind the list are the next that this thread needs
  for (Edge i = 0; i < degree; ++i) {
    if (i + kAhead < last) {
      __builtin_prefetch(new_of_old.data() + from[i + kAhead]);
    }
    to[i] = new_of_old[from[i]];
  }
  if (graph.weighted()) {
    std::copy_n(graph.weights.data() + begin, degree, result.weights.data() + result.offsets[new_of_old[v]]);
  }
}

}  // namespace

Csr reorder(const Csr& graph, std::span<const Vertex> new_of_old) {
  const Vertex vertices = graph.vertices();
  require_permutation(new_of_old, vertices);
  Csr result{graph.name, graph.directed, HostArray<Edge>(graph.offsets.size()),
             HostArray<Vertex>(graph.targets.size()), HostArray<Weight>(graph.weights.size())};
#pragma omp parallel for if (vertices > kReorderChunk)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    result.offsets[std::uint64_t{new_of_old[v]} + 1] = graph.degree(static_cast<Vertex>(v));
  }
  add_up(result.offsets);
#pragma omp parallel for schedule(dynamic, kReorderChunk) if (vertices > kReorderChunk)
  for (std::uint64_t v = 0; v < vertices; ++v) {
    paste(graph, new_of_old, result, static_cast<Vertex>(v));
  }
  return result;
}

std::string certify_reordered(const Csr& graph, std::span<const Vertex> new_of_old, const Csr& reordered,
                              bool sorted) {
  if (reordered.vertices() != graph.vertices() || reordered.edges() != graph.edges() ||
      (graph.vertices() > 0 && reordered.offsets[0] != 0)) {
    throw FailedError("wrong result: a reordered graph has other sizes than the graph");
  }
  std::uint64_t wrong = UINT64_MAX;
#pragma omp parallel reduction(min : wrong) if (graph.vertices() > kReorderChunk)
  {
    std::vector<Vertex> expected;
#pragma omp for schedule(dynamic, kReorderChunk)
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      const auto list = graph.neighbours(static_cast<Vertex>(v));
      expected.resize(list.size());
      std::transform(list.begin(), list.end(), expected.begin(), [&](Vertex u) { return new_of_old[u]; });
      if (sorted) {
        std::sort(expected.begin(), expected.end());
      }
      const Edge begin = reordered.offsets[new_of_old[v]];
      const Edge end = reordered.offsets[std::uint64_t{new_of_old[v]} + 1];
      if (begin > end || end > graph.edges() || end - begin != list.size() ||
          !std::equal(expected.begin(), expected.end(), reordered.targets.data() + begin)) {
        wrong = std::min(wrong, v);
      }
    }
  }
  if (wrong != UINT64_MAX) {
    throw FailedError("wrong result: the list of vertex " + std::to_string(wrong) +
                      " is another one under its new number");
  }
  return "every list stands under its vertex's new number, with its neighbours' new numbers";
}

}  // namespace grainscope::gnn
