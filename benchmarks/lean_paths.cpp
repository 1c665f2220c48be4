#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "grainscope/model/lean_sssp.hpp"
#include "grainscope/model/link.hpp"
#include "lean_case.hpp"
#include "lean_tiers.hpp"

namespace grainscope::harness {
namespace {

using graph::Vertex;

// What a run reads depends on who comes first, and its model lets a step's changes show in the next alone.
// Seen apart on no graph by more.
constexpr double kOfModel = 0.3;

lean::LinkReads sum_of(const std::vector<lean::LinkReads>& steps) {
  lean::LinkReads all;
  for (const lean::LinkReads& step : steps) {
    all.sectors += step.sectors;
    all.elements += step.elements;
    all.hot += step.hot;
  }
  return all;
}

// What the model says of the first trial, and how long that must take.
void hold_against_model(const Session& session, const LeanPoint& point, const LoadedGraph& graph,
                        const Tiers& tiers, Vertex source, Measurement& measurement) {
  const model::LeanSssp modelled =
      model::replay_sssp(tiers.pushed(graph), source, lean::usual_delta(graph.csr()));
  const double peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, point.gpu));
  const model::Link link = model::link_measured(peak_gb_s);
  double least_s = 0;
  double edges = 0;
  for (const model::LeanSsspStep& step : modelled.steps) {
    least_s += step.link.count() > 0 ? model::bound(link, step.link, 0).seconds() : 0;
    edges += static_cast<double>(step.edges);
  }
  const double read = measurement.trials.front().counters.at("edges_read");
  if (std::abs(read - edges) > kOfModel * edges + 1000) {
    throw FailedError("shortest paths read " + std::to_string(read) + " edges where their model reads " +
                      std::to_string(edges) + ": one of them is wrong");
  }
  measurement.traffic = traffic_of(modelled.total());
  measurement.link_peak_gb_s = peak_gb_s;
  measurement.counters["modelled_edges_read"] = edges;
  measurement.counters["modelled_s"] = least_s;
  measurement.counters["modelled_over_measured"] = least_s / measurement.trials.front().samples_s.front();
}

double run_trial(const LoadedGraph& graph, lean::LeanSssp& paths, Vertex source, Measurement& measurement) {
  const double seconds = paths.run(source);
  const std::vector<std::uint32_t> distances = paths.distances();
  measurement.verification =
      graph::certify_sssp(graph.csr(), graph.in_edges(), source, distances) + "; every trial";
  std::vector<LevelResult> levels = paths.levels();
  const lean::LinkReads reads = sum_of(paths.count(source));
  const double entries = static_cast<double>(graph::entries_reached(graph.csr(), distances));
  Trial trial{"source:" + std::to_string(source), {seconds}, {}, 0};
  trial.link_bytes = reads.sectors * model::kSectorBytes;
  trial.counters = {{"edges_read", static_cast<double>(reads.elements + reads.hot)},
                    {"hot_edges_read", static_cast<double>(reads.hot)},
                    {"levels", static_cast<double>(levels.size())},
                    {"teps", entries / (graph.csr().directed ? 1 : 2) / seconds}};
  if (measurement.trials.empty()) {
    measurement.levels = std::move(levels);
  }
  measurement.trials.push_back(std::move(trial));
  return seconds;
}

}  // namespace

Measurement measure_lean_sssp(Session& session, const LeanPoint& point, const LoadedGraph& graph) {
  const Tiers tiers = plan_tiers(point, graph);
  lean::LeanPlacement placement = tiers.placement(point, graph);
  placement.weights = true;
  const auto lists = lean::place_lean(placement);
  const auto paths = lean::make_lean_sssp(*lists, lean::usual_delta(graph.csr()));
  const std::vector<Vertex> sources = graph.sources(point.trials);
  // The first run loads kernels: nobody's trial.
  static_cast<void>(paths->run(sources.front()));
  Measurement measurement;
  measurement.samples = session.trials(point.trials, [&](int trial) {
    return run_trial(graph, *paths, sources[static_cast<std::size_t>(trial)], measurement);
  });
  measurement.timing = {Clock::event, false, "a whole run between two events, clearing its state included"};
  summarise_lean(graph, tiers, *lists, paths->gpu_bytes(), measurement);
  measurement.counters["delta"] = lean::usual_delta(graph.csr());
  measurement.counters["packed"] = lean::packs_weights(graph.csr()) ? 1 : 0;
  hold_against_model(session, point, graph, tiers, sources.front(), measurement);
  measurement.limit = host_link_limit(session.machine(), point.gpu);
  return measurement;
}

}  // namespace grainscope::harness
