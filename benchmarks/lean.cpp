// lean/bfs, lean/cc, lean/sssp: what does an algorithm that reads fewer edges save, where edges are far?
//
// Timed: one whole traversal between two events, state cleared within; nothing waits for the host meanwhile.
// Not timed: making, ordering and placing the graph, planning and filling what is hot, verifying, which every
// trial is. Operations: none; TEPS is a counter. Bytes: edges read, wherever they lie, times 4; what crossed
// the link is under `traffic` and in the trials, counted by the kernel in a second run and equal to the
// model's. Source: Beamer, Asanović and Patterson, SC 2012; Sutton, Ben-Nun and Barak, IPDPS 2018; GAP
// benchmark suite for sources and conventions; EMOGI (VLDB 2020) is what it is to be held against
// (traversal/bfs). Limits: the order of vertices is by degree, made offline, its time in prepare_s.

#include <memory>
#include <utility>

#include "families.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/numa.hpp"
#include "lean_case.hpp"
#include "traversal_case.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::GraphSpec;
using lean::TierPolicy;

std::vector<const char*> graphs_of(Preset preset) {
  switch (preset) {
    case Preset::smoke:
      return {"power"};
    case Preset::quick:
      return {"kron:20", "urand:20"};
    case Preset::acceptance:
      return {};
    case Preset::full:
      return {"kron:22", "urand:22", "web:20"};
    case Preset::paper:
      return {"kron:24", "urand:24", "dense:18", "web:22"};
  }
  return {};
}

const char* strategy_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return "direction_optimising";
    case Algorithm::cc:
      return "sampled";
    default:
      return "near_far";
  }
}

const char* what_it_is(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return "a bfs that turns between pushing and pulling";
    case Algorithm::cc:
      return "connected components that read two neighbours of each list before whole lists";
    default:
      return "shortest paths that read a list when its vertex is the nearest, or almost";
  }
}

const char* source_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::bfs:
      return "Beamer, Asanovic and Patterson, SC 2012; GAP benchmark suite: sources and conventions";
    case Algorithm::cc:
      return "Afforest (Sutton, Ben-Nun and Barak, IPDPS 2018)";
    default:
      return "Davidson, Baxter, Garland and Owens, IPDPS 2014; GAP benchmark suite: sources and conventions";
  }
}

Explanation explain(const LeanPoint& point, Algorithm algorithm) {
  const std::string where = point.tier ? "with the hottest " + std::to_string(point.hot) +
                                             " percent of the edge list in GPU memory as well"
                                       : "read over the link";
  return {
      std::string("the time of ") + what_it_is(algorithm) + ", its lists in page-locked host memory, " +
          where,
      algorithm == Algorithm::cc ? "all kernels between two events, from clearing the state to the last label"
                                 : "one kernel between two events, from clearing the state to the last step",
      "bytes = edges read * 4; teps = entries reached (half of them where undirected) / time, harmonic mean",
      source_of(algorithm),
      "vertices are numbered by falling degree, offline; TEPS says nothing of the work that was saved"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const GraphSpec& spec : graphs()) {
        for (const Algorithm algorithm : {Algorithm::bfs, Algorithm::cc, Algorithm::sssp}) {
          add(gpu, spec, algorithm, {}, 0);
          if (scope_.preset == Preset::quick && algorithm != Algorithm::bfs) {
            continue;
          }
          for (const int hot : hot_percents()) {
            for (const TierPolicy policy : policies(algorithm)) {
              add(gpu, spec, algorithm, policy, hot);
            }
          }
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  [[nodiscard]] std::vector<GraphSpec> graphs() const {
    if (!scope_.graphs.empty()) {
      return scope_.graphs;
    }
    std::vector<GraphSpec> graphs;
    for (const char* name : graphs_of(scope_.preset)) {
      graphs.push_back(graph::parse_graph_spec(name));
    }
    return graphs;
  }
  [[nodiscard]] std::vector<int> hot_percents() const {
    return scope_.dense() ? std::vector{1, 5, 10, 25} : std::vector{25};
  }
  // What is read of a list to its end is not known before a search.
  [[nodiscard]] std::vector<TierPolicy> policies(Algorithm algorithm) const {
    if (!scope_.dense() || algorithm != Algorithm::bfs) {
      return {TierPolicy::heads};
    }
    return {TierPolicy::heads, TierPolicy::lists, TierPolicy::reuse};
  }

  void add(const GpuTarget& gpu, const GraphSpec& spec, Algorithm algorithm, std::optional<TierPolicy> tier,
           int hot) {
    LeanPoint point;
    point.spec = spec;
    point.graph = {spec.name(), graph::Order::degree};
    point.tier = tier;
    point.hot = hot;
    point.node = scope_.nearest_node(gpu);
    point.gpu = gpu.ordinal;
    point.trials = trials_of(algorithm, scope_.trials);
    Benchmark benchmark;
    benchmark.id = {std::string("lean/") + graph::name(algorithm),
                    {{"strategy", strategy_of(algorithm), AxisStyle::bare},
                     {"tier", tier ? name(*tier) : "none", AxisStyle::bare},
                     {"locality", gpu.locality(point.node), AxisStyle::hidden},
                     {"graph", spec.name()},
                     {"hot", std::int64_t{hot}}},
                    {{"numa", point.node}, {"gpu", gpu.ordinal}}};
    if (algorithm == Algorithm::sssp) {
      benchmark.id.axes.push_back({"weights", weights_of(spec)});
    }
    benchmark.skip = why_not(gpu, spec, algorithm);
    benchmark.explanation = explain(point, algorithm);
    benchmark.needs = needs_of(point);
    const auto claim = benchmark.skip.empty() ? graphs_->claim(point.graph, scope_.repetitions) : nullptr;
    benchmark.run = [point, algorithm, graphs = graphs_, claim,
                     cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir);
      });
      const NodeBinding binding(session.machine().topology, point.node);
      switch (algorithm) {
        case Algorithm::bfs:
          return measure_lean_bfs(session, point, *graph);
        case Algorithm::cc:
          return measure_lean_cc(session, point, *graph);
        default:
          return measure_lean_sssp(session, point, *graph);
      }
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const GraphSpec& spec, Algorithm algorithm) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    return algorithm == Algorithm::cc && spec.directed() ? kNoDirectedComponents
                                                         : why_no_mapping(machine_, gpu.ordinal);
  }

  [[nodiscard]] static Needs needs_of(const LeanPoint& point) {
    const std::uint64_t entries = point.spec.most_entries().value_or(0);
    const std::uint64_t vertices = point.spec.vertices().value_or(0);
    const std::uint64_t edges = entries * sizeof(graph::Vertex) * (point.spec.directed() ? 2 : 1);
    // Generating and ordering take three times what the graph comes to.
    // Weights share their neighbours' four bytes, or have as many again.
    Needs needs{3 * (entries * 8 + vertices * 8) + edges, vertices * 32 + entries / 16, 0};
    needs.device_bytes += edges * static_cast<std::uint64_t>(point.hot) / 100;
    return needs;
  }

  const Machine& machine_;
  const Scope& scope_;
  std::shared_ptr<GraphCache> graphs_ = std::make_shared<GraphCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family lean_traversal() {
  return {"lean", "What does a traversal save that reads fewer of the edges that are far?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
