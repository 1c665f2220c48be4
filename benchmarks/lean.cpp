// lean/bfs, lean/cc, lean/pr, lean/sssp: what does an algorithm that reads fewer bytes save, where edges are
// far?
//
// Timed: one whole run between two events, state set within; nothing waits for the host meanwhile but hybrid
// runs, where it chooses in every step. Not timed:
// making, ordering, compressing and placing the graph, planning and filling what is hot, verifying, which
// every trial is. Operations: none; TEPS is a counter. Bytes: edges read, wherever they lie, times 4; what
// crossed the link is under `traffic` and in the trials, counted by the kernel in a second run and equal to
// the model's. Source: Beamer, Asanovic and Patterson, SC 2012; Sutton, Ben-Nun and Barak, IPDPS 2018; GAP
// benchmark suite for sources and conventions; EMOGI (VLDB 2020) is what it is to be held against
// (traversal/*). Limits: the order of vertices is by degree, made offline, its time in prepare_s.

#include <algorithm>
#include <memory>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/lean/hybrid.hpp"
#include "grainscope/system/numa.hpp"
#include "lean_case.hpp"
#include "traversal_points.hpp"
#include "trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::GraphSpec;
using lean::TierPolicy;

constexpr int kMostHot = 25;  // percent of the edge list

// What each algorithm does differently.
struct Technique {
  const char* strategy;
  const char* is;
  const char* source;
};
Technique technique_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return {"direction_optimising", "a bfs that turns between pushing and pulling",
              "Beamer, Asanovic and Patterson, SC 2012; GAP benchmark suite: sources and conventions"};
    case Algorithm::cc:
      return {"sampled",
              "connected components that join first neighbours, then some whole lists while these join most, "
              "then two neighbours of each list outside the largest component, then what is still outside",
              "after Afforest (Sutton, Ben-Nun and Barak, IPDPS 2018)"};
    case Algorithm::pr:
      return {"pulled", "PageRank that pulls, in place, from a start near the answer",
              "GAP benchmark suite: damping and tolerance; docs/lean.md"};
    case Algorithm::sssp:
      break;
  }
  return {"near_far", "shortest paths that read a list when its vertex is the nearest, or almost",
          "Davidson, Baxter, Garland and Owens, IPDPS 2014; GAP benchmark suite: sources and conventions"};
}

Explanation explain(const LeanPoint& point) {
  const Technique technique = technique_of(point.algorithm);
  std::string where = point.compressed ? ", compressed" : "";
  if (point.hybrid) {
    where += ", segments of which are copied whole where that takes less time than reading them";
  }
  if (point.tier) {
    where += ", the hottest " +
             (point.hot.bytes > 0 ? format_bytes(point.hot.bytes)
                                  : std::to_string(point.hot.percent) + " percent of the edge list") +
             " in GPU memory instead";
  }
  return {
      std::string("the time of ") + technique.is + ", its lists in page-locked host memory" + where,
      point.hybrid
          ? "kernels, copies and the host's choices between two events, from setting the state to the "
            "last step"
      : point.algorithm == Algorithm::cc
          ? "all kernels between two events, from clearing the state to the last label"
          : "one kernel between two events, from setting the state to the last step",
      "bytes = edges read * 4; teps = entries reached (half of them where undirected) / time, harmonic mean",
      technique.source,
      "vertices are numbered by falling degree, offline; TEPS says nothing of the work that was saved"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    if (scope_.preset == Preset::acceptance) {
      return {};  // what is accepted is a link and its host, not an algorithm
    }
    for (const GpuTarget& gpu : scope_.program_gpus()) {
      for (const GraphSpec& spec : traversed_graphs(scope_)) {
        for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::cc, Algorithm::pr, Algorithm::sssp}) {
          add_all(gpu, spec, algorithm);
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  // Each technique alone, and together.
  void add_all(const GpuTarget& gpu, const GraphSpec& spec, Algorithm algorithm) {
    add(gpu, spec, algorithm, {}, {}, false);
    for (const std::uint64_t bytes : scope_.hot_budgets) {
      add(gpu, spec, algorithm, TierPolicy::heads, {.bytes = bytes}, false);
      add(gpu, spec, algorithm, TierPolicy::heads, {.bytes = bytes}, true);
    }
    const bool one = scope_.preset == Preset::quick && algorithm != Algorithm::bfs;
    if (one) {
      return;
    }
    add(gpu, spec, algorithm, {}, {}, true);
    if (algorithm == Algorithm::pr || algorithm == Algorithm::sssp) {
      add(gpu, spec, algorithm, {}, {}, false, true);
      add(gpu, spec, algorithm, {}, {}, true, true);
    }
    const bool paper = scope_.preset == Preset::paper;
    for (const int percent : hot_percents(algorithm)) {
      const bool most = percent == kMostHot;
      const HotBudget hot{.percent = percent};
      add(gpu, spec, algorithm, TierPolicy::heads, hot, false);
      // What is read of a list to its end is not known before a search: other policies are for bfs.
      if (scope_.dense() && algorithm == Algorithm::bfs && (most || paper)) {
        add(gpu, spec, algorithm, TierPolicy::lists, hot, false);
        add(gpu, spec, algorithm, TierPolicy::reuse, hot, false);
      }
      if (most || paper) {
        add(gpu, spec, algorithm, TierPolicy::heads, hot, true);
      }
    }
  }
  [[nodiscard]] std::vector<int> hot_percents(Algorithm algorithm) const {
    const bool all = scope_.preset == Preset::paper || (scope_.dense() && algorithm == Algorithm::bfs);
    return all ? std::vector{1, 5, 10, kMostHot} : std::vector{kMostHot};
  }

  void add(const GpuTarget& gpu, const GraphSpec& spec, Algorithm algorithm, std::optional<TierPolicy> tier,
           const HotBudget& hot, bool compressed, bool hybrid = false) {
    LeanPoint point;
    point.spec = spec;
    point.graph = {spec.name(), graph::Order::degree};
    point.algorithm = algorithm;
    point.tier = tier;
    point.hot = hot;
    point.compressed = compressed;
    point.hybrid = hybrid;
    point.node = scope_.nearest_node(gpu);
    point.gpu = gpu.ordinal;
    point.trials = trials_of(algorithm, scope_.trials);
    Benchmark benchmark;
    benchmark.id = {std::string("lean/") + graph::name(algorithm),
                    {{"strategy", technique_of(algorithm).strategy, AxisStyle::bare},
                     {"tier", tier ? name(*tier) : "none", AxisStyle::bare},
                     {"lists", compressed ? "compressed" : "plain", AxisStyle::bare},
                     {"segments", hybrid ? "hybrid" : "read", hybrid ? AxisStyle::bare : AxisStyle::hidden},
                     {"locality", gpu.locality(point.node), AxisStyle::hidden},
                     {"graph", spec.name()},
                     hot.bytes > 0 ? Axis{"hot_budget", static_cast<std::int64_t>(hot.bytes)}
                                   : Axis{"hot", std::int64_t{hot.percent}}},
                    {{"numa", point.node}, {"gpu", gpu.ordinal}}};
    if (algorithm == Algorithm::sssp) {
      benchmark.id.axes.push_back({"weights", weights_of(spec)});
    }
    benchmark.skip = why_not(gpu, point);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const auto claim = benchmark.skip.empty() ? graphs_->claim(point.graph, scope_.repetitions) : nullptr;
    benchmark.run = [point, graphs = graphs_, claim, cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir);
      });
      const NodeBinding binding(session.machine().topology, point.node);
      return measure_lean(session, point, *graph);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const LeanPoint& point) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    if (point.algorithm == Algorithm::cc && point.spec.directed()) {
      return kNoDirectedComponents;
    }
    const GpuReport* report = machine_.find_gpu(gpu.ordinal);
    if (report != nullptr && report->cuda && point.hot.bytes > report->cuda->total_memory_bytes) {
      return "--hot-budget " + format_bytes(point.hot.bytes) + " are more than GPU " +
             std::to_string(gpu.ordinal) + " has: " + format_bytes(report->cuda->total_memory_bytes);
    }
    return why_no_mapping(machine_, gpu.ordinal);
  }

  [[nodiscard]] static Needs needs_of(const LeanPoint& point) {
    const std::uint64_t entries = point.spec.most_entries().value_or(0);
    const std::uint64_t vertices = point.spec.vertices().value_or(0);
    const std::uint64_t edges = entries * sizeof(graph::Vertex) * (point.spec.directed() ? 2 : 1);
    const bool weights = point.algorithm == Algorithm::sssp;
    // Compressed lists, with weights a little longer, are made before they are placed. Weights that are not
    // compressed may need an array of their own. What is hot passes through host memory.
    const std::uint64_t placed =
        point.compressed ? 2 * (edges + (weights ? edges / 4 : 0)) : edges * (weights ? 2 : 1);
    // First neighbours are made, then placed; where their blocks are is on the GPU too.
    const bool firsts = point.algorithm == Algorithm::bfs || point.algorithm == Algorithm::cc;
    const std::uint64_t beside =
        placed + std::min(edges, point.hot.most_bytes(edges)) + (firsts ? vertices * 9 : 0);
    Needs needs{host_bytes(point.spec, point.graph.order, beside), vertices * 41 + entries / 16, 0};
    // No more than there are, each with the offset of its list.
    needs.device_bytes += std::min(edges * (weights ? 2 : 1) + 4 * vertices * (point.spec.directed() ? 2 : 1),
                                   point.hot.most_bytes(edges));
    if (point.hybrid) {
      needs.device_bytes += lean::staged_words(edges / sizeof(graph::Vertex)) * sizeof(graph::Vertex);
    }
    return needs;
  }

  const Machine& machine_;
  const Scope& scope_;
  std::shared_ptr<GraphCache> graphs_ = std::make_shared<GraphCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family lean_traversal() {
  return {"lean",
          "What does a traversal save that reads fewer of the edges that are far?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope).list();
          }};
}

}  // namespace grainscope::harness
