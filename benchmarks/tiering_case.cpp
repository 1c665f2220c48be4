#include "tiering_case.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

using gnn::Score;
using graph::Vertex;

// What counters tell of the curve, in percent of the rows.
constexpr std::array<int, 7> kPercents{1, 2, 5, 10, 20, 25, 50};

gnn::RunRequest request_of(const TrainingRun& run, std::uint64_t epoch) {
  return {{run.fanouts, kGnnSeed}, run.batch, epoch, 1, run.most_batches};
}

HostArray<std::uint32_t> sampled_counts(const GnnGraph& graph, std::span<const Vertex> labelled,
                                        const TrainingRun& run, std::uint64_t epoch) {
  HostArray<std::uint32_t> counts(graph.vertices());
  gnn::for_each_batch(graph.in_edges(), labelled, request_of(run, epoch),
                      [&](const gnn::MiniBatch& batch) { gnn::count_accesses(batch.nodes, counts.span()); });
  return counts;
}

// A score as it is computed: whole numbers or others, and the ranking.
struct Scored {
  HostArray<std::uint32_t> counts;
  gnn::PageRank rank;
  std::vector<Vertex> ranking;
  double score_s = 0;
  double rank_s = 0;
};

// Rows that were asked for equally often stand by degree: most are never met in a part of an epoch.
std::vector<Vertex> ranking_of(const GnnGraph& graph, Score score, const Scored& scored) {
  if (!scored.rank.scores.empty()) {
    return gnn::ranking(scored.rank.scores.span());
  }
  if (score == Score::degree) {
    return gnn::ranking(scored.counts.span());
  }
  return gnn::ranking(scored.counts.span(), gnn::ranking(gnn::degree_scores(graph.out_edges()).span()));
}

Scored compute(const GnnGraph& graph, const TrainingRun& run, Score score, std::span<const Vertex> labelled) {
  Scored scored;
  const double begun_s = steady_now_s();
  switch (score) {
    case Score::degree:
      scored.counts = gnn::degree_scores(graph.out_edges());
      break;
    case Score::reverse_pagerank:
      scored.rank = gnn::reverse_pagerank(graph.out_edges(), graph.in_edges());
      break;
    case Score::weighted_reverse_pagerank:
      scored.rank = gnn::weighted_reverse_pagerank(graph.out_edges(), graph.in_edges(), labelled);
      break;
    case Score::presampled:
    case Score::optimal:
      scored.counts =
          sampled_counts(graph, labelled, run, score == Score::optimal ? kJudgedEpoch : kPresampledEpoch);
      break;
  }
  const double scored_s = steady_now_s();
  scored.ranking = ranking_of(graph, score, scored);
  scored.score_s = scored_s - begun_s;
  scored.rank_s = steady_now_s() - scored_s;
  return scored;
}

[[noreturn]] void refuse(const std::string& what) {
  throw FailedError("wrong result: " + what);
}

void require_pushed(const gnn::PageRank& rank, const std::vector<double>& expected) {
  for (std::size_t v = 0; v < expected.size(); ++v) {
    if (!(std::abs(rank.scores[v] - expected[v]) <= 1e-6 * expected[v])) {
      refuse("the page rank of vertex " + std::to_string(v) + " is " + std::to_string(rank.scores[v]) +
             " where a push over in-edges gives " + std::to_string(expected[v]));
    }
  }
}

// The same run again, certified and counted by one thread.
void require_counted(const GnnGraph& graph, const TrainingRun& run, std::uint64_t epoch,
                     std::span<const Vertex> labelled, const HostArray<std::uint32_t>& counts) {
  std::vector<std::uint32_t> expected(graph.vertices());
  bool certified = false;
  gnn::for_each_batch(graph.in_edges(), labelled, request_of(run, epoch), [&](const gnn::MiniBatch& batch) {
    if (!certified) {
      gnn::certify_sample(graph.in_edges(), run.fanouts,
                          std::span(batch.nodes).first(batch.nodes_upto.front()), batch);
      certified = true;
    }
    for (const Vertex v : batch.nodes) {
      ++expected[v];
    }
  });
  if (!std::equal(expected.begin(), expected.end(), counts.begin(), counts.end())) {
    refuse("accesses counted by all threads differ from those counted by one");
  }
}

template <class T>
void require_falling(std::span<const T> scores, std::span<const Vertex> ranking) {
  static_cast<void>(gnn::old_to_new(ranking));
  for (std::size_t i = 1; i < ranking.size(); ++i) {
    if (scores[ranking[i]] > scores[ranking[i - 1]]) {
      refuse("rank " + std::to_string(i) + " has a higher score than the one before it");
    }
  }
}

std::string verify(const GnnGraph& graph, const TrainingRun& run, Score score,
                   std::span<const Vertex> labelled, const Scored& scored) {
  std::string how;
  switch (score) {
    case Score::degree:
      for (Vertex v = 0; v < graph.vertices(); ++v) {
        if (scored.counts[v] != graph.out_edges().degree(v)) {
          refuse("the score of vertex " + std::to_string(v) + " is not its degree");
        }
      }
      how = "scores are degrees";
      break;
    case Score::reverse_pagerank:
      require_pushed(scored.rank, graph.pushed_rank(scored.rank.iterations, 0, {}));
      how = "scores are those of a push over in-edges, within 1e-6";
      break;
    case Score::weighted_reverse_pagerank:
      require_pushed(scored.rank, graph.pushed_rank(scored.rank.iterations, run.labelled, labelled));
      how = "scores are those of a push over in-edges, within 1e-6";
      break;
    case Score::presampled:
    case Score::optimal:
      require_counted(graph, run, score == Score::optimal ? kJudgedEpoch : kPresampledEpoch, labelled,
                      scored.counts);
      how = "accesses are those of the same run counted by one thread, its first mini-batch certified";
      break;
  }
  if (scored.rank.scores.empty()) {
    require_falling<std::uint32_t>(scored.counts.span(), scored.ranking);
  } else {
    require_falling<float>(scored.rank.scores.span(), scored.ranking);
  }
  return how + "; the ranking is a permutation by falling score; every sample gave the same";
}

double median_of(const std::vector<double>& values) {
  return summarize(values).median;
}

void add_hit_rates(Measurement& measurement, const Accesses& judged, std::span<const Vertex> ranking) {
  const std::vector<double>& shares = hit_shares();
  const std::vector<double> rates = gnn::hit_rates(judged.counts.span(), ranking, shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double best = judged.optimal_hit_rates[i];
    if (rates[i] > best * (1 + 1e-12) || (i > 0 && rates[i] < rates[i - 1])) {
      refuse("a hit rate is above that of the optimal order, or falls with more rows");
    }
    measurement.hit_curve.emplace_back(shares[i], rates[i]);
    for (const int percent : kPercents) {
      if (std::lround(shares[i] * 1e4) == percent * 100L) {
        measurement.counters["hit_rate_" + std::to_string(percent)] = rates[i];
        measurement.counters["of_optimal_" + std::to_string(percent)] = best > 0 ? rates[i] / best : 1;
      }
    }
  }
  measurement.counters["batches"] = static_cast<double>(judged.batches);
  measurement.counters["accesses"] = static_cast<double>(judged.rows);
  measurement.counters["labelled_vertices"] = static_cast<double>(judged.labelled.size());
}

}  // namespace

const std::vector<double>& hit_shares() {
  static const std::vector<double> shares{0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15,
                                          0.2,   0.25,  0.3,   0.4,  0.5,  0.6,  0.7,  0.8,  0.9, 1};
  return shares;
}

std::unique_ptr<Accesses> accesses_of(const GnnGraph& graph, const TrainingRun& run) {
  auto result = std::make_unique<Accesses>();
  result->labelled = gnn::labelled_vertices(graph.vertices(), run.labelled, kGnnSeed);
  result->counts = sampled_counts(graph, result->labelled, run, kJudgedEpoch);
  const std::uint64_t an_epoch = (result->labelled.size() + run.batch - 1) / run.batch;
  result->batches = run.most_batches == 0 ? an_epoch : std::min(an_epoch, run.most_batches);
  result->rows = std::accumulate(result->counts.begin(), result->counts.end(), std::uint64_t{0});
  result->optimal_hit_rates =
      gnn::hit_rates(result->counts.span(), gnn::ranking(result->counts.span()), hit_shares());
  return result;
}

Measurement measure_score(Session& session, const GnnGraph& graph, const TrainingRun& run, Score score,
                          const Accesses& judged) {
  std::vector<double> score_s;
  std::vector<double> rank_s;
  std::vector<Vertex> ranking;
  int iterations = 0;
  std::string verification;
  const auto score_once = [&] {
    const Scored scored = compute(graph, run, score, judged.labelled);
    if (ranking.empty()) {
      verification = verify(graph, run, score, judged.labelled, scored);
      ranking = scored.ranking;
      iterations = scored.rank.iterations;
    } else if (scored.ranking != ranking) {
      refuse("two computations of a score give two rankings");
    }
    score_s.push_back(scored.score_s);
    rank_s.push_back(scored.rank_s);
    return scored.score_s + scored.rank_s;
  };
  LocalOperation scoring(
      {.run = score_once,
       .verify = [&] { return verification; },
       .timing = {Clock::steady, false, "computing the score and ranking all vertices by it"}});
  Measurement measurement = measure(session, scoring);
  measurement.samples.keep_sampled(score_s);
  measurement.samples.keep_sampled(rank_s);
  measurement.graph = graph.facts();
  add_hit_rates(measurement, judged, ranking);
  measurement.counters["score_s"] = median_of(score_s);
  measurement.counters["rank_s"] = median_of(rank_s);
  measurement.counters["threads"] = omp_get_max_threads();
  if (iterations > 0) {
    measurement.counters["iterations"] = iterations;
  }
  return measurement;
}

}  // namespace grainscope::harness
