// The families of tiering: tiering/score and tiering/reorder, and the run that scores are judged by.

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/scores.hpp"

namespace grainscope::harness {

// A training run of an epoch, or of as much of one as the preset has time for.
struct TrainingRun {
  std::string graph;  // name of the spec
  std::vector<int> fanouts;
  std::uint64_t batch = 1000;
  int labelled = 10;  // percent
  std::uint64_t most_batches = 0;
  friend bool operator==(const TrainingRun&, const TrainingRun&) = default;
};

// How often a run's mini-batches ask for each row. Scores are judged by those of another epoch than the one
// that is presampled.
struct Accesses {
  HostArray<std::uint32_t> counts;  // [V]
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;                 // asked for, over all mini-batches
  std::vector<graph::Vertex> labelled;    // of the run
  std::vector<double> optimal_hit_rates;  // at hit_shares()
};
inline constexpr std::uint64_t kPresampledEpoch = 0;
inline constexpr std::uint64_t kJudgedEpoch = 1;

// Throws UsageError where nothing is labelled.
[[nodiscard]] std::unique_ptr<Accesses> accesses_of(const GnnGraph& graph, const TrainingRun& run);

using AccessCache = ClaimCache<TrainingRun, Accesses>;

// Shares of rows at which hit rates are told, ascending to 1.
[[nodiscard]] const std::vector<double>& hit_shares();

[[nodiscard]] Measurement measure_score(Session& session, const GnnGraph& graph, const TrainingRun& run,
                                        gnn::Score score, const Accesses& judged);

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
  result->labelled = graph.trained_on(run.labelled);
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
  double around_s = 0;
  const auto score_once = [&] {
    const double begun_s = raw_now_s();
    const Scored scored = compute(graph, run, score, judged.labelled);
    around_s = raw_now_s() - begun_s;
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
       .timing = {Clock::steady, false, "computing the score and ranking all vertices by it"},
       .around_s = [&](double /*run_s*/) { return around_s; }});
  Measurement measurement = measure(session, scoring);
  measurement.samples.keep_sampled(score_s);
  measurement.samples.keep_sampled(rank_s);
  measurement.graph = graph.facts();
  add_hit_rates(measurement, judged, ranking);
  // Every vertex has its place in the ranking.
  measurement.limit = cpu_limit(omp_get_max_threads(), graph.vertices() * sizeof(Vertex));
  measurement.counters["score_s"] = median_of(score_s);
  measurement.counters["rank_s"] = median_of(rank_s);
  measurement.counters["threads"] = omp_get_max_threads();
  if (iterations > 0) {
    measurement.counters["iterations"] = iterations;
  }
  return measurement;
}

namespace {

// tiering/score

constexpr About kAboutTieringScore{
    .question = "Which rows of a feature table should a GPU keep, and how many accesses do they take?",
    .timed =
        "computing a score of every vertex and ranking them by it, by all of the CPU's threads: degree, "
        "reverse page rank until it converges, weighted reverse page rank (five iterations from the labelled "
        "vertices), presampling (a training run of another epoch, counted), and the optimal order after the "
        "fact. Not timed: making the graph, the run that scores are judged by, checking",
    .formula =
        "hit_rate_x = accesses to the first x percent of the ranking / all accesses; of_optimal_x = that "
        "over the same of the order by the accesses themselves",
    .source =
        "dissertation 4.2.1, algorithm 2 (damping 0.85), 4.4.2, figures 4.8 and 4.10; presampling: GNNLab "
        "(EuroSys 2022)",
    .limits =
        "a run is an epoch, or its first mini-batches where that is too long; graphs without topics have "
        "their labels anywhere",
};

using graph::GraphSpec;

// Of a run that samples `edges_at_most` edges, by a bound that repeats keep it below.
std::uint64_t most_batches(const GraphSpec& spec, const std::vector<int>& fanouts, std::uint64_t batch,
                           std::uint64_t edges_at_most) {
  constexpr std::uint64_t kLeast = 4;
  const auto vertices = static_cast<graph::Vertex>(spec.vertices().value_or(UINT32_MAX));
  const gnn::MostOf most = gnn::most_of(fanouts, batch, vertices);
  std::uint64_t edges = 1;
  for (const std::uint64_t hop : most.edges) {
    edges += hop;
  }
  return std::max(kLeast, edges_at_most / edges);
}

Explanation explain_score(Score score, const gnn::OwnLabels* own) {
  return {.measures = std::string("what the score '") + name(score) +
                      "' costs, and which share of a training run's accesses its best rows take",
          .limits =
              said_of_labels(own) +
              "; a run is an epoch or its first mini-batches; rows presampled equally often stand by degree"};
}

class Lister {
 public:
  Lister(const Scope& scope, GnnGraphs graphs)
      : scope_(scope), own_(scope.labels), graphs_(std::move(graphs)) {}

  std::vector<Benchmark> list(const Grids& grids) {
    grids.each_graph(
        [&](const GraphSpec& spec, const Grid& grid) {
          for (const Values& values : grid.points()) {
            const std::vector<int> fanouts = gnn::parse_fanouts(values.word("fanout"));
            const std::uint64_t batch = values.number("batch");
            add(spec,
                {spec.name(), fanouts, batch, values.number_as<int>("labelled"),
                 most_batches(spec, fanouts, batch, values.number("edges_at_most"))},
                enumerator(values.word("score"), gnn::kAllScores, [](Score each) { return name(each); }));
          }
        },
        sizeof(graph::Vertex));
    return std::move(benchmarks_);
  }

 private:
  void add(const GraphSpec& spec, const TrainingRun& run, Score score) {
    Benchmark benchmark;
    benchmark.id = {"tiering/score",
                    {{"score", name(score), AxisStyle::bare},
                     {"graph", run.graph},
                     {"fanout", gnn::fanout_text(run.fanouts)},
                     {"batch", static_cast<std::int64_t>(run.batch)}},
                    {}};
    if (own_ == nullptr || !own_->has_train_ids()) {
      benchmark.id.axes.push_back({"labelled", std::int64_t{run.labelled}});
    }
    name_labels(own_.get(), benchmark.id);
    benchmark.explanation = explain_score(score, own_.get());
    // On average over the scores: 2 CPUs and 32 took the same.
    benchmark.about_s = 0.02 + 4.5e-8 * static_cast<double>(spec.most_entries().value_or(0));
    benchmark.needs.host_bytes = gnn_host_bytes(spec) + spec.vertices().value_or(0) * 64;
    const auto graph_claim = graphs_->claim(run.graph, scope_.visits_here);
    const auto run_claim = runs_->claim(run, scope_.visits_here);
    benchmark.run = [spec, run, score, own = own_, graphs = graphs_, runs = runs_, graph_claim, run_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GnnGraphCache::Lease graph(*graphs, *graph_claim, [&](const std::string&) {
        return std::make_unique<GnnGraph>(spec, cache_dir, own);
      });
      const AccessCache::Lease judged(*runs, *run_claim,
                                      [&](const TrainingRun& wanted) { return accesses_of(*graph, wanted); });
      return measure_score(session, *graph, run, score, *judged);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Scope& scope_;
  std::shared_ptr<const gnn::OwnLabels> own_;
  GnnGraphs graphs_;
  std::shared_ptr<AccessCache> runs_ = std::make_shared<AccessCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family tiering_score(const GnnGraphs& graphs) {
  return {
      "tiering/score",
      kAboutTieringScore,
      {graph_axis(), fanout_axis(), number_axis("batch", "seeds of a mini-batch", {1, 1 << 30}, "1000"),
       number_axis("labelled", "percent of the vertices that are trained on; not with --train-ids", {1, 100}),
       untold(number_axis("edges_at_most",
                          "edges that a training run samples at most, if not in four batches",
                          {1, UINT32_MAX}, "33554432")),
       word_axis("score", "by what rows are ranked",
                 names_of(gnn::kAllScores, [](Score each) { return name(each); }))},
      [graphs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
        return Lister(scope, graphs).list(grids);
      }};
}

namespace {

// tiering/reorder

constexpr About kAboutTieringReorder{
    .question = "What does it cost to number a graph by a ranking of its vertices?",
    .timed =
        "from a ranking (here by degree) to the graph under its numbers, in fresh memory, by all threads: "
        "the map from old to new, new offsets by a cumulative sum, every list pasted and looked up; `sorted` "
        "also sorts the lists again",
    .formula = "operation time = median time / adjacency entries. Every list of every sample is checked",
    .source = "dissertation 4.2.2: 31 s for the 3.2 billion edges of ogbn-papers100M, 103 million a second",
    .limits =
        "moving the feature table's rows is not in it; what the order changes for a cache shows elsewhere",
};

enum class Lists {
  pasted,  // as they were: dissertation 4.2.2
  sorted,  // ascending again, as graph::Csr promises
};

constexpr Lists kLists[] = {Lists::pasted, Lists::sorted};

const char* name(Lists lists) {
  return lists == Lists::pasted ? "pasted" : "sorted";
}

// By degree, the highest first.
Measurement measure_reorder(Session& session, const GnnGraph& graph, Lists lists) {
  const std::vector<Vertex> ranking = gnn::ranking(gnn::degree_scores(graph.out_edges()).span());
  const std::vector<Vertex> map = gnn::old_to_new(ranking);
  std::string verification;
  double around_s = 0;
  const auto run = [&] {
    const double outside_s = raw_now_s();
    const double begun_s = steady_now_s();
    const graph::Csr reordered = lists == Lists::pasted
                                     ? gnn::reorder(graph.out_edges(), gnn::old_to_new(ranking))
                                     : graph::relabel(graph.out_edges(), ranking);
    const double seconds = steady_now_s() - begun_s;
    around_s = raw_now_s() - outside_s;
    verification = gnn::certify_reordered(graph.out_edges(), map, reordered, lists == Lists::sorted) +
                   ", in every sample";
    return seconds;
  };
  LocalOperation reordering(
      {.run = run,
       .verify = [&] { return verification; },
       .timing = {Clock::steady, false, "from a ranking to the graph under its numbers"},
       .around_s = [&](double /*run_s*/) { return around_s; }});
  Measurement measurement = measure(session, reordering);
  measurement.graph = graph.facts();
  measurement.operations = graph.out_edges().edges();
  measurement.limit = cpu_limit(omp_get_max_threads(), sizeof(Vertex));
  measurement.counters["edges_per_s"] =
      static_cast<double>(graph.out_edges().edges()) / measurement.samples.summary.median;
  measurement.counters["threads"] = omp_get_max_threads();
  return measurement;
}

Explanation explain_reorder(Lists lists) {
  return {.measures =
              std::string("the time of numbering a graph anew by falling degree, its lists ") + name(lists)};
}

void add(std::vector<Benchmark>& benchmarks, const Scope& scope, const GnnGraphs& graphs,
         const GraphSpec& spec, Lists lists) {
  Benchmark benchmark;
  benchmark.id = {"tiering/reorder",
                  {{"lists", name(lists), AxisStyle::bare},
                   {"score", "degree", AxisStyle::hidden},
                   {"graph", spec.name()}},
                  {}};
  benchmark.explanation = explain_reorder(lists);
  benchmark.needs.host_bytes = gnn_host_bytes(spec);
  const auto claim = graphs->claim(spec.name(), scope.visits_here);
  benchmark.run = [spec, lists, own = scope.labels, graphs, claim,
                   cache_dir = scope.graph_cache](Session& session) {
    const GnnGraphCache::Lease graph(*graphs, *claim, [&](const std::string&) {
      return std::make_unique<GnnGraph>(spec, cache_dir, own);
    });
    return measure_reorder(session, *graph, lists);
  };
  benchmarks.push_back(std::move(benchmark));
}

std::vector<Benchmark> list(const Scope& scope, const Grids& grids, const GnnGraphs& graphs) {
  std::vector<Benchmark> benchmarks;
  grids.each_graph(
      [&](const GraphSpec& spec, const Grid& grid) {
        for (const Values& values : grid.points()) {
          add(benchmarks, scope, graphs, spec,
              enumerator(values.word("lists"), kLists, [](Lists each) { return name(each); }));
        }
      },
      sizeof(graph::Vertex));
  return benchmarks;
}

}  // namespace

Family tiering_reorder(const GnnGraphs& graphs) {
  return {"tiering/reorder",
          kAboutTieringReorder,
          {graph_axis(),
           word_axis("lists", "whether lists stay in their order or are sorted again",
                     names_of(kLists, [](Lists each) { return name(each); })),
           following_axis("score", "by which vertices are ranked")},
          [graphs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return list(scope, grids, graphs);
          }};
}

}  // namespace grainscope::harness
