#include "lean_case.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/model/lean_bfs.hpp"
#include "grainscope/model/link.hpp"
#include "lean_tiers.hpp"

namespace grainscope::harness {
namespace {

using graph::Vertex;

std::uint64_t link_bytes_of(const std::vector<lean::LinkReads>& levels) {
  std::uint64_t sectors = 0;
  for (const lean::LinkReads& level : levels) {
    sectors += level.sectors;
  }
  return sectors * model::kSectorBytes;
}

// What the model says of the first trial: it must have read the same; and how long that must take.
void hold_against_model(const Session& session, const LeanPoint& point, const LoadedGraph& loaded,
                        const Tiers& tiers, Vertex source, const std::vector<lean::LinkReads>& reads,
                        Measurement& measurement) {
  const model::LeanBfs search = model::replay_bfs(tiers.pushed(loaded), tiers.pulled(loaded), source, {});
  const double peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, point.gpu));
  const model::Link link = model::link_measured(peak_gb_s);
  double least_s = 0;
  for (std::size_t i = 0; i < search.levels.size(); ++i) {
    const model::LeanLevel& level = search.levels[i];
    if (i >= reads.size() || reads[i].sectors * model::kSectorBytes != level.link.bytes() ||
        reads[i].elements != level.link.elements || reads[i].hot != level.hot_reads) {
      throw FailedError("level " + std::to_string(i) +
                        " of a search did not read what its model does: one of them is wrong");
    }
    measurement.levels[i].requests = level.link.count();
    measurement.levels[i].link_bytes = level.link.bytes();
    least_s += level.link.count() > 0 ? model::bound(link, level.link, 0).seconds() : 0;
  }
  const model::Requests total = search.total();
  measurement.traffic = traffic_of(total);
  measurement.link_peak_gb_s = peak_gb_s;
  measurement.counters["modelled_s"] = least_s;
  measurement.counters["modelled_over_measured"] = least_s / measurement.trials.front().samples_s.front();
}

// One trial: timed, verified, counted.
double run_trial(const LoadedGraph& loaded, lean::LeanBfs& search, Vertex source, Measurement& measurement) {
  const double seconds = search.run(source);
  const std::vector<std::uint32_t> depths = search.depths();
  measurement.verification =
      graph::certify_bfs(loaded.csr(), loaded.in_edges(), source, depths) +
      "; every trial; what the first read over the link is, level by level, what its model reads";
  std::vector<LevelResult> levels = search.levels();
  const std::vector<bool> pulled = search.pulled();
  const std::vector<lean::LinkReads> reads = search.count(source);
  Trial trial{"source:" + std::to_string(source), {seconds}, {}, 0};
  trial.link_bytes = link_bytes_of(reads);
  const double entries = static_cast<double>(graph::entries_reached(loaded.csr(), depths));
  std::uint64_t elements = 0;
  std::uint64_t hot = 0;
  for (const lean::LinkReads& level : reads) {
    elements += level.elements;
    hot += level.hot;
  }
  trial.counters = {
      {"edges_read", static_cast<double>(elements + hot)},
      {"hot_edges_read", static_cast<double>(hot)},
      {"levels", static_cast<double>(levels.size())},
      {"pulls", static_cast<double>(std::count(pulled.begin(), pulled.end(), true))},
      {"reached", static_cast<double>(depths.size()) -
                      static_cast<double>(std::count(depths.begin(), depths.end(), graph::kUnreached))},
      {"teps", entries / (loaded.csr().directed ? 1 : 2) / seconds}};
  if (measurement.trials.empty()) {
    measurement.levels = std::move(levels);
  }
  measurement.trials.push_back(std::move(trial));
  return seconds;
}

}  // namespace

Measurement measure_lean_bfs(Session& session, const LeanPoint& point, const LoadedGraph& graph) {
  const Tiers tiers = plan_tiers(point, graph);
  const auto lists = lean::place_lean(tiers.placement(point, graph));
  const auto search = lean::make_lean_bfs(*lists, {});
  const std::vector<Vertex> sources = graph.sources(point.trials);
  // The first run loads kernels: nobody's trial.
  static_cast<void>(search->run(sources.front()));
  Measurement measurement;
  measurement.samples = session.trials(point.trials, [&](int trial) {
    return run_trial(graph, *search, sources[static_cast<std::size_t>(trial)], measurement);
  });
  measurement.timing = {Clock::event, false,
                        "a whole search between two events, clearing its state included"};
  summarise_lean(graph, tiers, *lists, search->gpu_bytes(), measurement);
  measurement.counters["pulls"] = median_of(measurement.trials, "pulls");
  hold_against_model(session, point, graph, tiers, sources.front(), search->count(sources.front()),
                     measurement);
  measurement.limit = host_link_limit(session.machine(), point.gpu);
  return measurement;
}

}  // namespace grainscope::harness
