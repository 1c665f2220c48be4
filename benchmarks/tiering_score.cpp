// tiering/score: which rows of a feature table should a GPU keep, what does finding out cost, and how many
// accesses do they take?
//
// Timed: computing a score of every vertex and ranking them by it, by all of the CPU's threads: degree,
// reverse page rank until it converges, weighted reverse page rank (five iterations from the labelled
// vertices), presampling (a training run of another epoch, counted), and the optimal order after the fact.
// Not timed: making the graph, the run that scores are judged by, checking. Hit rates: the share of that
// run's accesses that the first x % of the ranking take; of_optimal: over that of the optimal order. Source:
// dissertation 4.2.1, algorithm 2, 4.4.2, figures 4.8 and 4.10; presampling: GNNLab (EuroSys 2022). Limits: a
// run is an epoch, or its first mini-batches where that is too long; labels are spread at random.

#include <algorithm>
#include <memory>
#include <utility>

#include "families.hpp"
#include "tiering_case.hpp"

namespace grainscope::harness {
namespace {

using gnn::Score;
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

Explanation explain(Score score) {
  return {
      std::string("what the score '") + name(score) +
          "' costs, and which share of a training run's accesses its best rows take",
      "computing the score of every vertex and ranking all by it, on the CPU by all threads",
      "hit_rate_x = accesses to the first x percent of the ranking / all accesses; of_optimal_x = that over "
      "the same of the order by the accesses themselves",
      "dissertation 4.2.1 (algorithm 2, damping 0.85), 4.4.2, figures 4.8 and 4.10; presampling: GNNLab "
      "(EuroSys 2022)",
      "labels are spread at random over the graph; a run is an epoch or its first mini-batches; rows "
      "presampled equally often stand by degree"};
}

class Lister {
 public:
  Lister(const Scope& scope, GnnGraphs graphs) : scope_(scope), graphs_(std::move(graphs)) {}

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
                     {"batch", static_cast<std::int64_t>(run.batch)},
                     {"labelled", std::int64_t{run.labelled}}},
                    {}};
    benchmark.explanation = explain(score);
    // On average over the scores: 2 CPUs and 32 took the same.
    benchmark.about_s = 0.02 + 4.5e-8 * static_cast<double>(spec.most_entries().value_or(0));
    benchmark.needs.host_bytes = gnn_host_bytes(spec) + spec.vertices().value_or(0) * 64;
    const auto graph_claim = graphs_->claim(run.graph, scope_.visits_here);
    const auto run_claim = runs_->claim(run, scope_.visits_here);
    benchmark.run = [spec, run, score, graphs = graphs_, runs = runs_, graph_claim, run_claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GnnGraphCache::Lease graph(*graphs, *graph_claim, [&](const std::string&) {
        return std::make_unique<GnnGraph>(spec, cache_dir);
      });
      const AccessCache::Lease judged(*runs, *run_claim,
                                      [&](const TrainingRun& wanted) { return accesses_of(*graph, wanted); });
      return measure_score(session, *graph, run, score, *judged);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Scope& scope_;
  GnnGraphs graphs_;
  std::shared_ptr<AccessCache> runs_ = std::make_shared<AccessCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family tiering_score(const GnnGraphs& graphs) {
  return {"tiering/score",
          "Which rows of a feature table should a GPU keep, and how many accesses do they take?",
          {graph_axis(), fanout_axis(), number_axis("batch", "seeds of a mini-batch", {1, 1 << 30}, "1000"),
           number_axis("labelled", "percent of the vertices that are trained on", {1, 100}),
           unnamed(number_axis("edges_at_most",
                               "edges that a training run samples at most, if not in four batches",
                               {1, UINT32_MAX}, "33554432")),
           word_axis("score", "by what rows are ranked",
                     names_of(gnn::kAllScores, [](Score each) { return name(each); }))},
          [graphs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return Lister(scope, graphs).list(grids);
          }};
}

}  // namespace grainscope::harness
