#include "lean_case.hpp"

#include <utility>

#include "grainscope/core/units.hpp"
#include "grainscope/model/link.hpp"
#include "lean_runs.hpp"
#include "traffic.hpp"
#include "trials.hpp"

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
void count_reads(const LeanPoint& point, LeanRun& run, graph::Vertex source, const Verdict& verdict,
                 std::vector<LevelResult>& levels, Trial& trial, std::vector<LinkReads>& reads) {
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
  if (starts_somewhere(point.algorithm)) {
    trial.counters["reached"] = static_cast<double>(verdict.reached);
  }
}

// What the first trial's model asks of the link, and how long that must take.
void hold_against_model(const Session& session, const LeanPoint& point, const LeanModel& modelled,
                        Measurement& measurement) {
  const double peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, point.gpu));
  const model::Link link = model::link_measured(peak_gb_s);
  double least_s = 0;
  model::Requests total;
  const bool by_level = modelled.steps.size() == measurement.levels.size();
  for (std::size_t i = 0; i < modelled.steps.size(); ++i) {
    const model::Requests& step = modelled.steps[i];
    total += step;
    least_s += step.count() > 0 ? model::bound(link, step, 0).seconds() : 0;
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

}  // namespace

Measurement measure_lean(Session& session, const LeanPoint& point, const LoadedGraph& graph) {
  const LeanLayout layout(point, graph);
  const auto lists = lean::place_lean(layout.placement());
  LeanRun run = make_lean_run(point, graph, *lists, layout);
  const std::vector<Vertex> sources = graph.sources(point.trials);
  std::size_t number = 0;
  std::vector<LinkReads> first_reads;
  TrialParts parts;
  parts.algorithm = point.algorithm;
  parts.sources = sources;
  parts.timing = {Clock::event, false, "a whole run between two events, setting its state included"};
  parts.counted = true;
  parts.complete = [&](const Verdict& verdict, std::vector<LevelResult>& levels, Trial& trial) {
    std::vector<LinkReads> reads;
    count_reads(point, run, sources[number], verdict, levels, trial, reads);
    if (number++ == 0) {
      first_reads = std::move(reads);
    }
  };
  Trials trials(*run.traversal, graph, std::move(parts));
  Measurement measurement =
      measure(session, trials, {.limit = host_link_limit(session.machine(), point.gpu)});
  summarise(graph, layout, lists->hot_bytes(), lists->gpu_bytes() + run.traversal->gpu_bytes(), measurement);
  hold_against_model(session, point, run.model(sources.front(), first_reads), measurement);
  return measurement;
}

}  // namespace grainscope::harness
