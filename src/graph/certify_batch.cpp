// Proofs that several answers are right, of searches from several sources or of runs of pr, by one pass over
// the edges.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

bool AnswerBatch::add(Vertex source, std::span<const std::uint32_t> answer) {
  if (full()) {
    throw UsageError("a batch has " + std::to_string(kLanes) + " answers, and no room for another");
  }
  if (answer.size() != vertices_) {
    throw FailedError("an answer has " + std::to_string(answer.size()) + " entries, and " +
                      std::to_string(vertices_) + " are its batch's");
  }
  const std::size_t lane = sources_.size();
  if (lane == answers_.size()) {
    answers_.emplace_back(vertices_);
  }
  const HostArray<Entry>& entries = answers_[lane];
  std::uint32_t greatest = greatest_;
#pragma omp parallel for reduction(max : greatest) if (answer.size() > kFewVertices)
  for (std::size_t v = 0; v < answer.size(); ++v) {
    entries[v] = static_cast<Entry>(answer[v]);  // of kUnreached kNotReached
    greatest = answer[v] == kUnreached ? greatest : std::max(greatest, answer[v]);
  }
  if (greatest >= kNotReached) {
    return false;
  }
  greatest_ = greatest;
  sources_.push_back(source);
  return true;
}

void AnswerBatch::clear() {
  sources_.clear();
  greatest_ = 0;
}

HostArray<std::uint32_t> AnswerBatch::answer(std::size_t lane) const {
  HostArray<std::uint32_t> answer(vertices_);
#pragma omp parallel for if (answer.size() > kFewVertices)
  for (Vertex v = 0; v < vertices_; ++v) {
    const Entry entry = answers_[lane][v];
    answer[v] = entry == kNotReached ? kUnreached : entry;
  }
  return answer;
}

std::span<const AnswerBatch::Lanes> AnswerBatch::entries() {
  constexpr std::uint64_t kTogether = 512;  // vertices, whose lines a core keeps
  if (entries_.size() != vertices_) {
    entries_ = HostArray<Lanes>(vertices_);
  }
  const std::uint64_t vertices = vertices_;
#pragma omp parallel for if (vertices > kFewVertices)
  for (std::uint64_t first = 0; first < vertices; first += kTogether) {
    const std::uint64_t last = std::min(vertices, first + kTogether);
    for (std::size_t lane = 0; lane < sources_.size(); ++lane) {
      for (std::uint64_t v = first; v < last; ++v) {
        entries_[v][lane] = answers_[lane][v];
      }
    }
  }
  return entries_.span();
}

namespace {

using Entry = AnswerBatch::Entry;
using Lanes = AnswerBatch::Lanes;

// What a pass over all in-edges found.
struct Pass {
  unsigned differing = 0;   // a bit a lane: some entry is not the least way there
  Weight least_weight = 1;  // of all edges
  std::uint64_t most_weight = 1;
};

// The least of the ways to a vertex over its in-edges, of each lane. Where nothing is reached a sum would
// begin again at 0, so that it stops at kNotReached.
template <bool kWeighted>
Lanes least_ways(const Csr& in_edges, Vertex v, std::span<const Lanes> entries, Pass& pass) {
  constexpr Edge kAhead = 32;  // lines that are on their way from memory at once
  Lanes least;
  least.fill(AnswerBatch::kNotReached);
  const Edge end = in_edges.offsets[v + std::uint64_t{1}];
  for (Edge i = in_edges.offsets[v]; i < end; ++i) {
    __builtin_prefetch(&entries[in_edges.targets[std::min(i + kAhead, in_edges.edges() - 1)]]);
    const Entry* const there = entries[in_edges.targets[i]].data();
    const Weight weight = kWeighted ? in_edges.weights[i] : 1;
    if constexpr (kWeighted) {
      pass.least_weight = std::min(pass.least_weight, weight);
      pass.most_weight = std::max<std::uint64_t>(pass.most_weight, weight);
    }
    const auto length = static_cast<Entry>(weight);  // of what is longer the pass proves nothing
    const auto last = static_cast<Entry>(~length);
#pragma omp simd
    for (std::size_t lane = 0; lane < AnswerBatch::kLanes; ++lane) {
      const auto way = static_cast<Entry>(std::min(there[lane], last) + length);
      least[lane] = std::min(least[lane], way);
    }
  }
  return least;
}

template <bool kWeighted>
Pass pass_over(const Csr& in_edges, AnswerBatch& batch) {
  const EdgeChunks chunks(in_edges);
  const auto sources = batch.sources();
  const std::span<const Lanes> entries = batch.entries();
  unsigned differing = 0;
  Weight least_weight = 1;
  std::uint64_t most_weight = 1;
#pragma omp parallel for schedule(dynamic) reduction(|                                      \
                                                     : differing) reduction(min             \
                                                                            : least_weight) \
    reduction(max                                                                           \
              : most_weight) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    Pass pass;
    const Vertex last = chunks.first(chunk + 1);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      const Lanes& here = entries[v];
      const Lanes least = least_ways<kWeighted>(in_edges, v, entries, pass);
      for (std::size_t lane = 0; lane < sources.size(); ++lane) {
        const Entry right = v == sources[lane] ? Entry{0} : least[lane];
        pass.differing |= static_cast<unsigned>(here[lane] != right) << lane;
      }
    }
    differing |= pass.differing;
    least_weight = std::min(least_weight, pass.least_weight);
    most_weight = std::max(most_weight, pass.most_weight);
  }
  return {differing, least_weight, most_weight};
}

// Every entry is the least way there over an in-edge, but the source's, which is 0: from an entry that is not
// kUnreached such ways lead back, always nearer, and only the source has none before it, so it is the length
// of a path; and none is shorter, since no edge offers less. That holds where every edge has a length and no
// sum goes beyond 16 bits. What this does not prove is held to the proof of one answer, which knows more and
// says what is wrong.
template <bool kWeighted, class Single>
void certify_lanes(const Csr& in_edges, AnswerBatch& batch, const Single& single) {
  const Pass pass = pass_over<kWeighted>(in_edges, batch);
  const bool holds = pass.least_weight > 0 && batch.greatest() + pass.most_weight < AnswerBatch::kNotReached;
  for (std::size_t lane = 0; lane < batch.sources().size(); ++lane) {
    if (!holds || (pass.differing >> lane & 1) != 0) {
      static_cast<void>(single(batch.sources()[lane], batch.answer(lane).span()));
    }
  }
}

void require_sources(const Csr& graph, const AnswerBatch& batch, const std::string& what) {
  require_an_entry_each(graph, batch.vertices(), what);
  for (const Vertex source : batch.sources()) {
    require_source(graph, source);
  }
}

}  // namespace

std::string certify_bfs(const Csr& graph, const Csr& in_edges, AnswerBatch& depths) {
  require_sources(graph, depths, "bfs");
  require_in_edges(graph, in_edges);
  certify_lanes<false>(in_edges, depths, [&](Vertex source, std::span<const std::uint32_t> answer) {
    return certify_bfs(graph, in_edges, source, answer);
  });
  return kProofOfDepths;
}

std::string certify_sssp(const Csr& graph, AnswerBatch& distances) {
  require_sources(graph, distances, "sssp");
  require_weights(graph, "sssp");
  const auto single = [&](Vertex source, std::span<const std::uint32_t> answer) {
    return certify_sssp(graph, source, answer);
  };
  if (!graph.directed) {
    certify_lanes<true>(graph, distances, single);
    return kProofOfDistances;
  }
  for (std::size_t lane = 0; lane < distances.sources().size(); ++lane) {
    static_cast<void>(single(distances.sources()[lane], distances.answer(lane).span()));
  }
  return kProofOfDistances;
}

namespace {

using RankLanes = std::array<double, kRankLanes>;

// What each vertex hands out along each of its edges, of every lane; NaN or less than 0 of what is no rank.
HostArray<RankLanes> shares_of(const Csr& graph, std::span<const std::vector<float>> ranks) {
  HostArray<RankLanes> shares(graph.vertices());
  for_all(graph, [&](Vertex v) {
    RankLanes& here = shares[v];
    here.fill(0);
    for (std::size_t lane = 0; lane < ranks.size(); ++lane) {
      here[lane] = share_of_rank(ranks[lane][v], graph.degree(v));
    }
  });
  return shares;
}

// One more step from the ranks of every lane.
struct RankStep {
  RankLanes change{};    // in all
  unsigned doubted = 0;  // a bit a lane: some rank is none, or changes far
};

RankStep step_from(const Csr& in_edges, std::span<const std::vector<float>> ranks,
                   std::span<const RankLanes> shares) {
  constexpr Edge kAhead = 32;  // lines that are on their way from memory at once
  const EdgeChunks chunks(in_edges);
  const double teleport = (1 - kDamping) / static_cast<double>(in_edges.vertices());
  std::vector<RankStep> steps(chunks.size());
#pragma omp parallel for schedule(dynamic) if (chunks.size() > 1)
  for (std::uint64_t chunk = 0; chunk < chunks.size(); ++chunk) {
    RankStep step;
    const Vertex last = chunks.first(chunk + 1);
    for (Vertex v = chunks.first(chunk); v < last; ++v) {
      RankLanes next;
      next.fill(teleport);
      const Edge end = in_edges.offsets[v + std::uint64_t{1}];
      for (Edge i = in_edges.offsets[v]; i < end; ++i) {
        __builtin_prefetch(&shares[in_edges.targets[std::min(i + kAhead, in_edges.edges() - 1)]]);
        const double* const there = shares[in_edges.targets[i]].data();
#pragma omp simd
        for (std::size_t lane = 0; lane < kRankLanes; ++lane) {
          next[lane] += there[lane];
        }
      }
      for (std::size_t lane = 0; lane < ranks.size(); ++lane) {
        const float rank = ranks[lane][v];
        const bool right = rank >= 0 && std::isfinite(rank) && !is_far(rank, next[lane]);
        step.doubted |= static_cast<unsigned>(!right) << lane;
        step.change[lane] += std::abs(next[lane] - rank);
      }
    }
    steps[chunk] = step;
  }
  RankStep all;
  for (const RankStep& step : steps) {
    all.doubted |= step.doubted;
    for (std::size_t lane = 0; lane < kRankLanes; ++lane) {
      all.change[lane] += step.change[lane];
    }
  }
  return all;
}

}  // namespace

std::string certify_pr(const Csr& graph, const Csr& in_edges, std::span<const std::vector<float>> ranks,
                       double tolerance) {
  if (ranks.empty() || ranks.size() > kRankLanes) {
    throw UsageError("ranks of 1 to " + std::to_string(kRankLanes) +
                     " answers are certified together, not of " + std::to_string(ranks.size()));
  }
  if (ranks.size() == 1) {  // reads less memory
    return certify_pr(graph, in_edges, std::span<const float>(ranks.front()), tolerance);
  }
  require_in_edges(graph, in_edges);
  for (const std::vector<float>& each : ranks) {
    require_an_entry_each(graph, each.size(), "pr");
  }
  const HostArray<RankLanes> shares = shares_of(graph, ranks);
  const RankStep step = step_from(in_edges, ranks, shares.span());
  double most = 0;
  for (std::size_t lane = 0; lane < ranks.size(); ++lane) {
    if ((step.doubted >> lane & 1) != 0 || !(step.change[lane] < tolerance)) {
      // Says what is wrong.
      static_cast<void>(certify_pr(graph, in_edges, std::span<const float>(ranks[lane]), tolerance));
    }
    most = std::max(most, step.change[lane]);
  }
  return proof_of_ranks(most, tolerance);
}

}  // namespace grainscope::graph
