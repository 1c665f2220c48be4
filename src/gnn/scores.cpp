// Scores of vertices.

#include "grainscope/gnn/scores.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

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

}  // namespace grainscope::gnn
