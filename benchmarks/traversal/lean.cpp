// The families of lean traversals: lean/bfs, cc, pr and sssp, and the body that measures them.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/lean/run.hpp"
#include "grainscope/model/link.hpp"
#include "grainscope/system/numa.hpp"
#include "traffic.hpp"
#include "traversal/lean_runs.hpp"
#include "traversal/trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;
using graph::Vertex;
using lean::LinkReads;

LinkReads sum_of(const std::vector<LinkReads>& steps) {
  LinkReads all;
  for (const LinkReads& step : steps) {
    all.sectors += step.sectors;
    all.elements += step.elements;
    all.hot += step.hot;
    all.copied_bytes += step.copied_bytes;
  }
  return all;
}

// Completes a trial by a run that counts.
void count_reads(const LeanPoint& point, LeanRun& run, graph::Vertex source, std::vector<LevelResult>& levels,
                 Trial& trial, std::vector<LinkReads>& reads) {
  trial.counters.merge(run.counters());
  reads = run.traversal->count(source);
  if (point.algorithm == Algorithm::cc) {  // whose kernels count edges only where they count
    for (std::size_t i = 0; i < levels.size(); ++i) {
      levels[i].edges = reads[i].elements + reads[i].hot;
    }
  }
  const LinkReads read = sum_of(reads);
  trial.link_bytes = read.sectors * model::kSectorBytes + read.copied_bytes;
  trial.counters["link_bytes"] = static_cast<double>(trial.link_bytes);
  trial.counters["edges_read"] = static_cast<double>(read.elements + read.hot);
  trial.counters["hot_edges_read"] = static_cast<double>(read.hot);
  if (point.hybrid) {
    trial.counters["copied_bytes"] = static_cast<double>(read.copied_bytes);
  }
  if (point.algorithm != Algorithm::cc) {
    trial.counters["levels"] = static_cast<double>(levels.size());
  }
}

// What the first trial's model asks of the link, and how long that must take.
void hold_against_model(const Session& session, const LeanPoint& point, const LeanModel& modelled,
                        Measurement& measurement) {
  double peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, point.gpu));
  for (const int gpu : point.others) {
    peak_gb_s += session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, gpu));
  }
  // Several links carry as many requests at a time, each its share.
  const double links = 1 + static_cast<double>(point.others.size());
  const model::Link link = model::link_measured(peak_gb_s / links);
  double least_s = 0;
  model::Requests total;
  const bool by_level = modelled.steps.size() == measurement.levels.size();
  for (std::size_t i = 0; i < modelled.steps.size(); ++i) {
    const model::Requests& step = modelled.steps[i];
    total += step;
    least_s += step.count() > 0 ? model::bound(link, step, 0).seconds() / links : 0;
    if (by_level && point.algorithm != Algorithm::sssp) {
      measurement.levels[i].requests = step.count();
      measurement.levels[i].link_bytes = step.bytes();
    }
    if (!modelled.active.empty()) {
      measurement.levels[i].active = modelled.active[i];
    }
  }
  if (point.hybrid) {
    least_s = modelled.hybrid_s;
  }
  measurement.traffic = traffic_of(total, total.elements * sizeof(Vertex));
  measurement.link_peak_gb_s = peak_gb_s;
  measurement.verification += "; " + modelled.agreement;
  measurement.counters.insert(modelled.counters.begin(), modelled.counters.end());
  measurement.counters["modelled_s"] = least_s;
  measurement.counters["modelled_over_measured"] = least_s / measurement.trials.front().samples_s.front();
}

// The row's own numbers, from its trials.
void summarise(const LoadedGraph& graph, const LeanLayout& layout, std::uint64_t hot_bytes,
               std::uint64_t gpu_bytes, Measurement& measurement) {
  auto& counters = measurement.counters;
  counters = layout.counters();
  for (const auto& [counter, value] : measurement.trials.front().counters) {
    counters[counter] = counter == "teps" ? harmonic_mean(measurement.trials, counter)
                                          : median_of(measurement.trials, counter);
  }
  measurement.bytes = static_cast<std::uint64_t>(counters.at("edges_read")) * sizeof(Vertex);
  measurement.link_bytes_least = static_cast<std::uint64_t>(counters.at("link_bytes"));
  counters.erase("link_bytes");
  counters["link_gb_s"] =
      gb_per_s(static_cast<double>(*measurement.link_bytes_least), measurement.samples.summary.median);
  measurement.graph = graph.facts();
  counters["hot_bytes"] = static_cast<double>(hot_bytes);
  counters["gpu_bytes"] = static_cast<double>(gpu_bytes);
  counters["prepare_s"] = graph.order_s();
}

// Against the first GPU alone, over the same lists. Where it has no room for that the row stands without.
void hold_against_first(const LeanPoint& point, const LoadedGraph& graph, const PlacedTeam& lists,
                        const LeanLayout& layout, Measurement& measurement) {
  try {
    const LeanRun alone = make_lean_run(point, graph, lists.team().first(1), layout);
    hold_against_one_gpu(*alone.traversal, graph, point.algorithm, graph.sources(point.trials),
                         static_cast<int>(point.walkers().size()), measurement);
  } catch (const SkipError&) {
    return;
  }
}

}  // namespace

Measurement measure_lean(Session& session, const LeanPoint& point, const LoadedGraph& graph) {
  const LeanLayout layout(point, graph);
  const PlacedTeam lists(point, layout, session.surroundings());
  LeanRun run = make_lean_run(point, graph, lists.team(), layout);
  const std::vector<Vertex> sources = graph.sources(point.trials);
  std::size_t number = 0;
  std::vector<LinkReads> first_reads;
  std::string of_parents;
  TrialParts parts;
  parts.algorithm = point.algorithm;
  parts.sources = sources;
  parts.timing = {Clock::event, false,
                  std::string("a whole run between two events, setting its state included") +
                      (run.callers != nullptr ? ", and between two more the kernel that brings its answer "
                                                "into the caller's order"
                                              : "")};
  parts.counted = true;
  parts.complete = [&](std::vector<LevelResult>& levels, Trial& trial) {
    std::vector<LinkReads> reads;
    if (run.callers != nullptr) {
      trial.counters["mapping_s"] = run.callers->last_mapping_s();
    }
    if (point.answers == LeanAnswers::parents) {
      of_parents = "; " + graph::certify_parents(graph.csr(), graph.in_edges(), sources[number],
                                                 run.traversal->answer(), run.callers->parents());
    }
    count_reads(point, run, sources[number], levels, trial, reads);
    if (number++ == 0) {
      first_reads = std::move(reads);
    }
  };
  Trials trials(*run.traversal, graph, std::move(parts));
  Measurement measurement =
      measure(session, trials,
              {.gpu = point.gpu,
               .limit = host_link_limit(session.machine(), point.walkers()),
               .residency = residency_of(point.memory, [&lists] { lists.first().expect_on_host(); })});
  measurement.verification += of_parents;
  summarise(graph, layout, lists.hot_bytes(), lists.gpu_bytes() + run.traversal->gpu_bytes(), measurement);
  hold_against_model(session, point, run.model(sources.front(), first_reads), measurement);
  if (!point.others.empty()) {
    run.traversal.reset();  // its state may leave no room
    hold_against_first(point, graph, lists, layout, measurement);
  }
  return measurement;
}

namespace {

// lean

constexpr About kAboutLean{
    .question = "What does a traversal save that reads fewer of the edges that are far?",
    .timed =
        "one whole run between two events, state set within; nothing waits for the host meanwhile but hybrid "
        "runs and those of several GPUs, where it submits every step (of cc several GPUs wait for each other "
        "alone). Not timed: making, ordering, "
        "compressing and placing the "
        "graph, planning and filling what is hot, verifying, which every trial is",
    .formula =
        "operations: none; TEPS is a counter. Bytes: edges read, wherever they lie, times 4; what crossed "
        "the link is under `traffic` and in the trials, counted by the kernel in a second run and equal to "
        "the model's. Of several GPUs it is of all of them; counters.alone_s is the time of the first by "
        "itself, over the same lists, after the trials and from the first three sources; `scaling` is "
        "alone_s / (the time of all * their number)",
    .source =
        "Beamer, Asanovic and Patterson, SC 2012; Sutton, Ben-Nun and Barak, IPDPS 2018; GAP benchmark suite "
        "for sources and conventions; to be compared with EMOGI (VLDB 2020; traversal/*)",
    .limits =
        "the order of vertices is by degree, made offline, its time in prepare_s; answers are under these "
        "numbers unless `answers` says otherwise, and then mapping_s is part of the time",
};

using graph::GraphSpec;
using lean::TierPolicy;

const char* const kNoTier = "none";
const char* const kRead = "read";
const char* const kHybrid = "hybrid";
const char* const kNoBudget = "none";
const char* const kGivenBudgets = "given";  // those of --hot-budget

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
  if (!point.packed) {
    where += ", with weights in an array of their own";
  }
  const std::string brought =
      point.answers == LeanAnswers::numbered ? ""
      : point.answers == LeanAnswers::mapped
          ? "; then, between two more, the kernel that brings the answer into the caller's order (mapping_s)"
          : "; then, between two more, the kernel that brings the parents that it kept into the caller's "
            "order "
            "and numbers (mapping_s)";
  const std::string timed =
      point.hybrid
          ? "kernels, copies and the host's choices between two events, from setting the state to the "
            "last step"
      : point.algorithm == Algorithm::cc
          ? "all kernels between two events, from clearing the state to the last label"
          : "one kernel between two events, from setting the state to the last step";
  const bool several = point.gpus > 1;
  return {
      std::string("the time of ") + technique.is + ", its lists in host memory" + where +
          (several ? ", which several GPUs read, each the lists of its own vertices" : ""),
      (several ? "kernels of all GPUs, and what these tell each other, between two events, from setting the "
                 "state to the last step"
               : timed) +
          brought,
      "bytes = edges read * 4; teps = entries reached (half of them where undirected) / time, harmonic mean",
      technique.source,
      std::string("vertices are numbered by falling degree, offline; TEPS says nothing of the work that was "
                  "saved") +
          (brought.empty() ? ""
                           : "; link_gb_s and modelled_over_measured are over the whole time, mapping "
                             "included")};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope, const Grids& grids)
      : machine_(machine), scope_(scope), grids_(grids) {}

  std::vector<Benchmark> list() {
    grids_.each_graph([&](const GraphSpec& spec, const Grid& grid) {
      for (const GpuTarget& gpu : grids_.gpus(grid)) {
        const std::size_t all = std::max<std::size_t>(2, team_of(machine_, gpu.ordinal).size());
        for (const Values& values : grid.points({{"all", all}})) {
          for (const HotBudget& hot : budgets_of(values)) {
            if (const auto point = point_of(gpu, spec, values, hot)) {
              add(gpu, *point);
            }
          }
        }
      }
    });
    return std::move(benchmarks_);
  }

 private:
  // In bytes, where a point has them: in place of its percents.
  [[nodiscard]] std::vector<HotBudget> budgets_of(const Values& values) const {
    if (values.is("hot_budget", kNoBudget)) {
      return {{.percent = values.number_as<int>("hot")}};
    }
    std::vector<HotBudget> budgets;
    if (values.is("hot_budget", kGivenBudgets)) {
      for (const std::uint64_t bytes : scope_.hot_budgets) {
        budgets.push_back({.bytes = bytes});
      }
    } else {
      budgets.push_back({.bytes = values.number("hot_budget"), .given_by = "--axis hot_budget"});
    }
    return budgets;
  }

  // Absent, with the reason, where it cannot be.
  [[nodiscard]] std::optional<LeanPoint> point_of(const GpuTarget& gpu, const GraphSpec& spec,
                                                  const Values& values, const HotBudget& hot) const {
    LeanPoint point;
    point.spec = spec;
    point.graph = {spec.name(), graph::Order::degree};
    point.algorithm = algorithm_of(values);
    if (!values.is("tier", kNoTier)) {
      point.tier =
          enumerator(values.word("tier"), lean::kAllTierPolicies, [](TierPolicy each) { return name(each); });
    }
    point.hot = hot;
    point.compressed = values.is("lists", "compressed");
    point.hybrid = values.is("segments", kHybrid);
    point.node = scope_.nearest_node(gpu);
    point.memory = memory_of(values);
    point.gpu = gpu.ordinal;
    point.gpus = values.number_as<int>("gpus");
    const std::vector<int> team = team_of(machine_, gpu.ordinal);
    for (std::size_t i = 1; i < std::min(team.size(), static_cast<std::size_t>(point.gpus)); ++i) {
      point.others.push_back(team[i]);
    }
    point.trials =
        trials_within(scope_.trials_s, trial_s_of(point), trials_of(point.algorithm, scope_.trials));
    point.graph.weights = weights_of(values);
    point.packed = values.on("packed");
    point.answers =
        enumerator(values.word("answers"), kLeanAnswers, [](LeanAnswers each) { return name(each); });
    const bool hot_edges = hot.percent > 0 || hot.bytes > 0;
    if (const std::string why = why_no_case(spec, point.algorithm, point.graph.weights); !why.empty()) {
      grids_.leave_out(why);
    } else if (!point.packed && (point.algorithm != Algorithm::sssp || point.compressed || point.hybrid)) {
      grids_.leave_out("weights lie apart in sssp alone, of plain lists that are read where they lie");
    } else if (point.answers == LeanAnswers::parents && point.algorithm != Algorithm::bfs) {
      grids_.leave_out("parents are a bfs's: other answers are numbered or mapped");
    } else if (point.tier && !hot_edges) {
      grids_.leave_out("a tier holds some of the edges: hot or hot_budget is above 0");
    } else if (hot_edges && !point.tier) {
      grids_.leave_out("edges are hot in a tier: tier is heads, lists or reuse");
    } else if (point.tier == TierPolicy::reuse && point.algorithm != Algorithm::bfs) {
      grids_.leave_out("reuse is learnt from searches: its algorithm is bfs");
    } else if (point.hybrid && point.algorithm != Algorithm::pr && point.algorithm != Algorithm::sssp) {
      grids_.leave_out("segments are copied whole in pr and sssp alone");
    } else if (point.gpus > 1 && (point.hybrid || point.answers != LeanAnswers::numbered)) {
      grids_.leave_out("several GPUs read all lists where they lie, and answer under the numbers by degree");
    } else {
      return point;
    }
    return std::nullopt;
  }

  [[nodiscard]] static double trial_s_of(const LeanPoint& point) {
    // Lean lists are read a fraction of the bytes of others, in a fraction of the time.
    constexpr double kAsIfRead_gb_s = 150;
    return trial_s(point.spec, point.algorithm, sizeof(graph::Vertex), kAsIfRead_gb_s);
  }

  void add(const GpuTarget& gpu, const LeanPoint& point) {
    Benchmark benchmark;
    benchmark.id = {
        std::string("lean/") + graph::name(point.algorithm),
        {{"strategy", technique_of(point.algorithm).strategy, AxisStyle::bare},
         {"tier", point.tier ? name(*point.tier) : kNoTier, AxisStyle::bare},
         {"lists", point.compressed ? "compressed" : "plain", AxisStyle::bare},
         {"segments", point.hybrid ? kHybrid : kRead, point.hybrid ? AxisStyle::bare : AxisStyle::hidden},
         {"locality", gpu.locality(point.node), AxisStyle::hidden},
         {"graph", point.spec.name()},
         point.hot.bytes > 0 ? Axis{"hot_budget", static_cast<std::int64_t>(point.hot.bytes)}
                             : Axis{"hot", std::int64_t{point.hot.percent}}},
        {{"numa", point.node}, {"gpu", gpu.ordinal}}};
    add_memory(point.memory, benchmark.id.axes);
    benchmark.samples_s = point.trials * trial_s_of(point);
    if (point.algorithm == Algorithm::sssp) {
      benchmark.id.axes.push_back({"weights", weights_of(point.spec, point.graph.weights)});
    }
    if (!point.packed) {
      benchmark.id.axes.push_back({"packed", "off"});
    }
    if (point.answers != LeanAnswers::numbered) {
      benchmark.id.axes.push_back({"answers", name(point.answers)});
    }
    if (point.gpus > 1) {
      benchmark.id.axes.push_back({"gpus", std::int64_t{point.gpus}});
      benchmark.other_gpus = point.others;
    }
    benchmark.skip = why_not(gpu, point);
    benchmark.explanation = explain(point);
    benchmark.needs = needs_of(point);
    const auto claim = benchmark.skip.empty() ? graphs_->claim(point.graph, scope_.visits_here) : nullptr;
    benchmark.run = [point, graphs = graphs_, claim, cache_dir = scope_.graph_cache](Session& session) {
      const GraphCache::Lease graph(*graphs, *claim, [&](const GraphKey& key) {
        return std::make_unique<LoadedGraph>(point.spec, key.order, cache_dir, key.weights);
      });
      if (point.algorithm == Algorithm::sssp) {
        graph->require_weights();
      }
      const NodeBinding binding(session.machine().topology, point.node);
      return measure_lean(session, point, *graph);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  [[nodiscard]] std::string why_not(const GpuTarget& gpu, const LeanPoint& point) const {
    if (!gpu.unavailable.empty()) {
      return gpu.unavailable;
    }
    if (const std::string why = why_no_team(machine_, gpu.ordinal, static_cast<std::size_t>(point.gpus));
        !why.empty()) {
      return why;
    }
    for (const int each : point.walkers()) {
      const GpuReport* report = machine_.find_gpu(each);
      if (report != nullptr && report->cuda && point.hot.bytes > report->cuda->memory_bytes()) {
        return std::string(point.hot.given_by) + ": " + format_bytes(point.hot.bytes) +
               " are more than GPU " + std::to_string(each) +
               " has: " + format_bytes(report->cuda->memory_bytes());
      }
    }
    for (const int other : point.others) {
      if (const std::string why = gpu_targets(machine_, {other}).front().unavailable; !why.empty()) {
        return why;
      }
    }
    if (const std::string why = why_not_by_several(point.memory); point.gpus > 1 && !why.empty()) {
      return why;
    }
    const std::uint64_t edges = point.spec.most_entries().value_or(0) * sizeof(graph::Vertex);
    return why_no_memory(machine_, point.memory, gpu.ordinal, edges);
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
    const std::uint64_t mapping = point.answers == LeanAnswers::numbered ? 0
                                  : point.answers == LeanAnswers::mapped ? 12
                                                                         : 16;  // of a vertex
    Needs needs{host_bytes(point.spec, point.graph.order, beside), vertices * (41 + mapping) + entries / 16,
                0};
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
  const Grids& grids_;
  std::shared_ptr<GraphCache> graphs_ = std::make_shared<GraphCache>();
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family lean_traversal() {
  std::vector<std::string> tiers =
      names_of(lean::kAllTierPolicies, [](TierPolicy each) { return name(each); });
  tiers.insert(tiers.begin(), kNoTier);
  return {
      "lean",
      kAboutLean,
      {algorithm_axis(),
       word_axis("tier", "which edges GPU memory holds: heads of all lists, whole lists, what is read most",
                 std::move(tiers), kNoTier),
       word_axis("lists", "how the other edges are held", {"plain", "compressed"}, "plain"),
       word_axis("segments", "whether all is read where it lies, or copied whole where that is faster",
                 {kRead, kHybrid}, kRead),
       memory_axis("how the host memory came to be in which lists lie"), graph_axis(),
       number_axis("hot", "percent of the edge list in the tier", {0, 100}, "0"),
       size_axis("hot_budget", "GPU memory of the tier, in place of hot; given: what --hot-budget names",
                 {1, 1024 * kGiB}, false, kNoBudget, {kNoBudget, kGivenBudgets}),
       following_axis("strategy", "by which the algorithm reads fewer edges"), weights_axis(),
       switch_axis("packed",
                   "whether weights share the four bytes of their neighbours where both fit, of sssp over "
                   "plain lists",
                   "on"),
       word_axis("answers",
                 "under whose numbers: those by degree, or the caller's, brought there within the time; "
                 "parents: a bfs's, in place of depths",
                 names_of(kLeanAnswers, [](LeanAnswers each) { return name(each); }),
                 name(LeanAnswers::numbered)),
       number_axis("gpus", "GPUs that traverse together, each the lists of its own vertices", {1, 16}, "1",
                   {}, {"all"}),
       gpu_axis()},
      [](const Machine& machine, const Scope& scope, const Grids& grids) {
        return Lister(machine, scope, grids).list();
      },
      false,
      1,
      {{"lean/sssp", 2}}};  // the threshold rises by the lowest weight, if that is more
}

}  // namespace grainscope::harness
