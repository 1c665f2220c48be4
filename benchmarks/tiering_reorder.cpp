// tiering/reorder: what does it cost to number a graph by a ranking of its vertices?
//
// Timed: from a ranking (here by degree) to the graph under its numbers, in fresh memory, by all threads: the
// map from old to new, new offsets by a cumulative sum, every list pasted and looked up; `sorted` also sorts
// the lists again. Operations: adjacency entries. Every list of every sample is checked.
// Source: dissertation 4.2.2: 31 s for the 3.2 billion edges of ogbn-papers100M, 103 million a second.
// Limits: moving the feature table's rows is not in it; what the order changes for a cache shows elsewhere.

#include <omp.h>

#include <memory>
#include <utility>

#include "families.hpp"
#include "gnn_case.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/scores.hpp"

namespace grainscope::harness {
namespace {

using graph::GraphSpec;
using graph::Vertex;

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
  const auto run = [&] {
    const double begun_s = steady_now_s();
    const graph::Csr reordered = lists == Lists::pasted
                                     ? gnn::reorder(graph.out_edges(), gnn::old_to_new(ranking))
                                     : graph::relabel(graph.out_edges(), ranking);
    const double seconds = steady_now_s() - begun_s;
    verification = gnn::certify_reordered(graph.out_edges(), map, reordered, lists == Lists::sorted) +
                   ", in every sample";
    return seconds;
  };
  LocalOperation reordering(
      {.run = run,
       .verify = [&] { return verification; },
       .timing = {Clock::steady, false, "from a ranking to the graph under its numbers"}});
  Measurement measurement = measure(session, reordering);
  measurement.graph = graph.facts();
  measurement.operations = graph.out_edges().edges();
  measurement.counters["edges_per_s"] =
      static_cast<double>(graph.out_edges().edges()) / measurement.samples.summary.median;
  measurement.counters["threads"] = omp_get_max_threads();
  return measurement;
}

Explanation explain(Lists lists) {
  return {std::string("the time of numbering a graph anew by falling degree, its lists ") + name(lists),
          "from a ranking to the graph under its numbers: the map, new offsets, lists, in fresh memory",
          "operation time = median time / adjacency entries", "dissertation 4.2.2",
          "the rows of the feature table are not moved; entries of `sorted` lists are ascending again"};
}

void add(std::vector<Benchmark>& benchmarks, const Scope& scope, const GnnGraphs& graphs,
         const GraphSpec& spec, Lists lists) {
  Benchmark benchmark;
  benchmark.id = {"tiering/reorder",
                  {{"lists", name(lists), AxisStyle::bare},
                   {"score", "degree", AxisStyle::hidden},
                   {"graph", spec.name()}},
                  {}};
  benchmark.explanation = explain(lists);
  benchmark.needs.host_bytes = gnn_host_bytes(spec);
  const auto claim = graphs->claim(spec.name(), scope.visits_here);
  benchmark.run = [spec, lists, graphs, claim, cache_dir = scope.graph_cache](Session& session) {
    const GnnGraphCache::Lease graph(
        *graphs, *claim, [&](const std::string&) { return std::make_unique<GnnGraph>(spec, cache_dir); });
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
          "What does it cost to number a graph by a ranking of its vertices?",
          {graph_axis(), word_axis("lists", "whether lists stay in their order or are sorted again",
                                   names_of(kLists, [](Lists each) { return name(each); }))},
          [graphs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return list(scope, grids, graphs);
          }};
}

}  // namespace grainscope::harness
