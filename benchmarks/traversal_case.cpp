#include "traversal_case.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/graph/traversal.hpp"
#include "grainscope/model/replay.hpp"
#include "traffic.hpp"
#include "trials.hpp"

namespace grainscope::harness {
namespace {

using graph::Access;
using graph::Algorithm;
using graph::EdgePlacement;
using graph::Vertex;

std::uint64_t edges_of(const std::vector<LevelResult>& levels) {
  return std::accumulate(levels.begin(), levels.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const LevelResult& level) { return sum + level.edges; });
}

model::Layout layout_of(const TraversalPoint& point) {
  model::Layout layout;
  layout.edge_bytes = point.where.request.edge_bytes;
  layout.weights = point.algorithm == Algorithm::sssp;
  return layout;
}

// What the first trial's own frontiers ask of the link, by the model; and the heaviest of them.
std::vector<Vertex> replay(const TraversalPoint& point, const LoadedGraph& loaded,
                           graph::Traversal& traversal, Vertex source, std::uint64_t cache_bytes,
                           Measurement& measurement) {
  model::Replayer replayer(loaded.csr(), point.access, layout_of(point));
  std::vector<Vertex> heaviest;
  std::uint64_t most = 0;
  // The very trial that scripts/grainscope-count has a profiler count.
  const cuda::ProfileRange counted("counted trial");
  traversal.follow(source, [&](std::span<const Vertex> active) {
    replayer.level(active);
    if (const std::uint64_t elements = replayer.result().levels.back().elements; elements > most) {
      most = elements;
      heaviest.assign(active.begin(), active.end());
    }
  });
  const model::Replay& result = replayer.result();
  measurement.traffic = traffic_of(result.total, result.total.elements * result.element_bytes);
  measurement.link_bytes_asked = result.total.elements * result.element_bytes;
  measurement.link_bytes_least = result.least_bytes(cache_bytes);
  // Frontiers of cc and sssp differ from run to run: what belongs to this one is told by its own numbers.
  // What must have crossed, as of the row: a rate of more would be one that the link does not have.
  for (std::size_t i = 0; i < std::min(measurement.levels.size(), result.levels.size()); ++i) {
    if (measurement.levels[i].edges == result.levels[i].elements) {
      measurement.levels[i].requests = result.level_requests[i];
      measurement.levels[i].link_bytes = result.level_bytes[i];
    }
  }
  measurement.counters["cached_amplification"] = result.cached_amplification();
  measurement.counters["requests_with_cache"] = static_cast<double>(result.cached_requests());
  measurement.counters["bytes_with_cache"] = static_cast<double>(result.least_bytes(0));
  measurement.counters["amplification_data_set"] =
      static_cast<double>(result.total.bytes()) / static_cast<double>(result.data_bytes);
  return heaviest;
}

// The level that carries most of the work of a search against a kernel that only reads the same lists, run in
// turns. A search goes over the same frontiers every time.
void hold_against_toy(const TraversalPoint& point, const LoadedGraph& loaded,
                      const graph::PlacedGraph& placed, graph::Traversal& traversal, Vertex source,
                      const std::vector<Vertex>& active, Measurement& measurement) {
  std::uint64_t sum = 0;
  std::uint64_t edges = 0;
  for (const Vertex v : active) {
    const auto list = loaded.csr().neighbours(v);
    sum = std::accumulate(list.begin(), list.end(), sum);
    edges += list.size();
  }
  const auto sweep = graph::make_sweep(placed, point.access, active, sum);
  constexpr int kRuns = 5;
  std::vector<double> level_s;
  std::vector<double> toy_s;
  for (int run = 0; run < kRuns; ++run) {
    traversal.run(source);
    const std::vector<LevelResult> levels = traversal.levels();
    const auto heaviest =
        std::max_element(levels.begin(), levels.end(),
                         [](const LevelResult& a, const LevelResult& b) { return a.edges < b.edges; });
    if (heaviest == levels.end() || heaviest->edges != edges) {
      return;
    }
    level_s.push_back(heaviest->seconds);
    toy_s.push_back(sample(*sweep));
  }
  const double level = summarize(level_s).median;
  const double toy = summarize(toy_s).median;
  measurement.counters["heaviest_level_s"] = level;
  measurement.counters["heaviest_level_toy_s"] = toy;
  measurement.counters["heaviest_level_over_toy"] = toy / level;
}

// The parts of a traversal that compacts: on the host, over the link, on the GPU.
constexpr const char* kGather = "gather_s";
constexpr const char* kCopy = "copy_s";
constexpr const char* kWalk = "walk_s";

void note_parts(const std::vector<graph::SubwayLevel>& levels, Trial& trial) {
  trial.link_bytes = 0;
  for (const graph::SubwayLevel& level : levels) {
    trial.counters[kGather] += level.gather_s;
    trial.counters[kCopy] += level.copy_s;
    trial.counters[kWalk] += level.walk_s;
    trial.link_bytes += level.edge_bytes + level.list_bytes;
  }
}

std::uint64_t median_link_bytes(const std::vector<Trial>& trials) {
  std::vector<double> bytes;
  bytes.reserve(trials.size());
  for (const Trial& trial : trials) {
    bytes.push_back(static_cast<double>(trial.link_bytes));
  }
  return static_cast<std::uint64_t>(summarize(bytes).median);
}

void summarise(const TraversalPoint& point, const LoadedGraph& loaded, std::uint64_t gpu_bytes,
               Measurement& measurement) {
  const double middle = median_of(measurement.trials, "edges_read");
  measurement.bytes = static_cast<std::uint64_t>(middle) * point.element_bytes();
  measurement.graph = loaded.facts();
  auto& counters = measurement.counters;
  counters["edges_read"] = middle;
  counters["edges_per_s"] = middle / measurement.samples.summary.median;
  counters["gpu_bytes"] = static_cast<double>(gpu_bytes);
  if (point.algorithm != Algorithm::pr) {
    counters["teps"] = harmonic_mean(measurement.trials, "teps");
  }
  if (point.where.graph.order != graph::Order::original) {
    counters["prepare_s"] = loaded.order_s();
  }
}

}  // namespace

std::uint64_t TraversalPoint::element_bytes() const {
  return static_cast<std::uint64_t>(where.request.edge_bytes) + (algorithm == Algorithm::sssp ? 4 : 0);
}

std::vector<Vertex> TraversalPoint::starts(const LoadedGraph& graph) const {
  if (sources.empty()) {
    return graph.sources(trials);
  }
  std::vector<Vertex> starts;
  starts.reserve(static_cast<std::size_t>(trials));
  for (int trial = 0; trial < trials; ++trial) {
    starts.push_back(sources[static_cast<std::size_t>(trial) % sources.size()]);
  }
  return starts;
}

namespace {

// Trials from the point's sources. `note` adds what a trial has beside that.
Measurement measure_trials(Session& session, const TraversalPoint& point, const LoadedGraph& graph,
                           graph::Traversal& traversal, const std::function<void()>& prepare,
                           const std::function<void(Trial&)>& note) {
  if (point.algorithm == Algorithm::cc && graph.csr().directed) {
    throw SkipError(kNoDirectedComponents);
  }
  int number = 0;
  TrialParts parts;
  parts.algorithm = point.algorithm;
  parts.sources = point.starts(graph);
  parts.timing = {Clock::event, false, "a whole traversal between two events, clearing its state included"};
  parts.prepare = prepare;
  parts.complete = [&](const Verdict& verdict, const std::vector<LevelResult>& levels, Trial& trial) {
    if (starts_somewhere(point.algorithm) && !point.sources.empty()) {
      trial.label += "/trial:" + std::to_string(number);  // sources of its own are taken again and again
    }
    ++number;
    const std::uint64_t edges = edges_of(levels);
    if (point.over_link()) {
      // What was read once has crossed the link; a second walk of the same list may have met a cache.
      trial.link_bytes = std::min(edges, graph.csr().edges()) * point.element_bytes();
    }
    trial.counters["edges_read"] = static_cast<double>(edges);
    trial.counters["levels"] = static_cast<double>(levels.size());
    trial.counters["reached"] = static_cast<double>(verdict.reached);
    note(trial);
  };
  Trials trials(traversal, graph, std::move(parts));
  return measure(session, trials);
}

std::uint64_t l2_bytes(const Machine& machine, const TraversalPoint& point) {
  const GpuReport* report = machine.find_gpu(point.where.request.gpu);
  return report != nullptr && report->cuda ? report->cuda->l2_bytes : 0;
}

void hold_against_link(Session& session, const TraversalPoint& point, Measurement& measurement) {
  const int gpu = point.where.request.gpu;
  measurement.limit = host_link_limit(session.machine(), gpu);
  measurement.link_peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.where.node, gpu));
}

}  // namespace

Measurement measure_traversal(Session& session, const TraversalPoint& point, const LoadedGraph& graph,
                              graph::PlacedGraph& placed) {
  const auto traversal = graph::make_traversal(placed, point.algorithm, point.access);
  Measurement measurement = measure_trials(
      session, point, graph, *traversal, [&placed] { placed.make_cold(); }, [](Trial&) {});
  summarise(point, graph, placed.gpu_bytes() + traversal->gpu_bytes(), measurement);
  if (point.where.request.placement == EdgePlacement::mapped) {
    const Vertex first = point.starts(graph).front();
    const std::vector<Vertex> heaviest =
        replay(point, graph, *traversal, first, l2_bytes(session.machine(), point), measurement);
    if (point.algorithm == Algorithm::bfs && point.access != Access::edge_gather) {
      hold_against_toy(point, graph, placed, *traversal, first, heaviest, measurement);
    }
    hold_against_link(session, point, measurement);
    measurement.counters["link_gb_s"] = gb_per_s(static_cast<double>(*measurement.link_bytes_least),
                                                 measurement.trials.front().samples_s.front());
    const graph::WalkStatistics walked = traversal->statistics(first);
    measurement.counters["lane_use"] = walked.lane_use();
    measurement.counters["block_imbalance"] = walked.block_imbalance;
  }
  return measurement;
}

Measurement measure_subway(Session& session, const TraversalPoint& point, const LoadedGraph& graph) {
  const auto& request = point.where.request;
  const auto traversal =
      graph::make_subway(graph.csr(), {request.edge_bytes, request.weights, request.gpu, 0}, point.algorithm);
  Measurement measurement = measure_trials(
      session, point, graph, *traversal, [] {}, [&](Trial& trial) { note_parts(traversal->parts(), trial); });
  summarise(point, graph, traversal->gpu_bytes(), measurement);
  for (const char* const part : {kGather, kCopy, kWalk}) {
    measurement.counters[part] = median_of(measurement.trials, part);
  }
  measurement.link_bytes_least = median_link_bytes(measurement.trials);
  hold_against_link(session, point, measurement);
  return measurement;
}

}  // namespace grainscope::harness
