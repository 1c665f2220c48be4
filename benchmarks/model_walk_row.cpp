#include <cmath>

#include "grainscope/core/error.hpp"
#include "model_rows.hpp"
#include "model_sums.hpp"

namespace grainscope::harness {
namespace {

using model::Replay;
using model::Requests;

const char* const kVerification =
    "in every level the elements read are as many as the frontier's lists hold, levels add up to the total; "
    "bytes with an infinite cache are no fewer than the different lists have, no more than the data set has, "
    "and no more than those without a cache";

// The bound of each level, and their sum.
struct RunBound {
  std::vector<double> levels_s;
  model::TimeBound sum;  // of each cause by itself
  double seconds = 0;
};

RunBound bound_of(const TrialModel& trial, const WalkRequest& walk, const model::Link& link) {
  RunBound result;
  const Replay& replay = trial.walks.at(walk);
  const auto misses = trial.misses.find({walk.edge_bytes, link.reach_bytes, link.granule_bytes});
  for (std::size_t level = 0; level < replay.levels.size(); ++level) {
    const std::uint64_t missed = misses != trial.misses.end() ? misses->second[level] : 0;
    const model::TimeBound one = model::bound(link, replay.levels[level], missed);
    result.levels_s.push_back(one.seconds());
    result.seconds += one.seconds();
    result.sum.bytes_s += one.bytes_s;
    result.sum.requests_s += one.requests_s;
    result.sum.translations_s += one.translations_s;
  }
  return result;
}

void check(const TrialModel& trial, const Replay& replay) {
  Requests total;
  require_conserved(replay.levels.size() == trial.edges.size() && replay.active == trial.active, trial,
                    "the replay has other levels than the algorithm");
  for (std::size_t level = 0; level < replay.levels.size(); ++level) {
    total += replay.levels[level];
    require_conserved(replay.levels[level].elements == trial.edges[level], trial,
                      "level " + std::to_string(level) + " read " +
                          std::to_string(replay.levels[level].elements) + " elements of " +
                          std::to_string(trial.edges[level]));
  }
  require_conserved(total == replay.total, trial, "the levels do not add up to the total");
  const std::uint64_t useful = trial.entries * replay.element_bytes;
  // Each array ends within a sector.
  const std::uint64_t most = replay.data_bytes + 2 * model::kSectorBytes;
  require_conserved(replay.cached_bytes >= useful && replay.cached_bytes <= most, trial,
                    "an infinite cache asks for " + std::to_string(replay.cached_bytes) +
                        " bytes, of lists of " + std::to_string(useful) + " and a data set of " +
                        std::to_string(replay.data_bytes));
  require_conserved(replay.cached_bytes <= replay.total.bytes(), trial,
                    "an infinite cache asks for more than none does");
  require_conserved(replay.total.lanes <= replay.total.loads * graph::kWarpLanes, trial,
                    "more lanes than the loads have");
}

// The mean over trials; sizes are rounded each, and the rest follows from them.
Traffic mean_traffic(const Trials& trials, const WalkRequest& walk) {
  Traffic traffic;
  double asked = 0;
  double moved = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double mean = mean_of(trials, [&](const TrialModel& trial) {
      return static_cast<double>(trial.walks.at(walk).total.by_sectors[i]);
    });
    const auto count = static_cast<std::uint64_t>(std::llround(mean));
    const std::uint64_t size = (i + 1) * model::kSectorBytes;
    traffic.requests_by_size[static_cast<int>(size)] = count;
    traffic.requests += count;
    traffic.bytes += count * size;
  }
  for (const TrialModel& trial : trials) {
    const Replay& replay = trial.walks.at(walk);
    asked += static_cast<double>(replay.total.elements * replay.element_bytes);
    moved += static_cast<double>(replay.total.bytes());
  }
  traffic.amplification = moved / asked;
  return traffic;
}

void add_counters(Measurement& measurement, const Trials& trials, const WalkRequest& walk,
                  const std::vector<RunBound>& bounds) {
  const auto mean = [&](const auto& f) {
    return mean_of(trials, [&](const TrialModel& trial) { return f(trial.walks.at(walk)); });
  };
  auto& counters = measurement.counters;
  counters["amplification_data_set"] = mean([](const Replay& replay) {
    return static_cast<double>(replay.total.bytes()) / static_cast<double>(replay.data_bytes);
  });
  counters["cached_amplification"] = mean([](const Replay& replay) { return replay.cached_amplification(); });
  counters["lane_use"] = mean([](const Replay& replay) { return replay.total.lane_use(); });
  counters["block_imbalance"] = mean([](const Replay& replay) { return replay.block_imbalance; });
  counters["warp_loads"] = mean([](const Replay& replay) { return static_cast<double>(replay.total.loads); });
  counters["split_requests"] =
      mean([](const Replay& replay) { return static_cast<double>(replay.total.split); });
  double seconds = 0;
  model::TimeBound sum;
  for (const RunBound& bound : bounds) {
    seconds += bound.seconds;
    sum.bytes_s += bound.sum.bytes_s;
    sum.requests_s += bound.sum.requests_s;
    sum.translations_s += bound.sum.translations_s;
  }
  const auto runs = static_cast<double>(bounds.size());
  counters["bytes_s"] = sum.bytes_s / runs;
  counters["requests_s"] = sum.requests_s / runs;
  counters["translations_s"] = sum.translations_s / runs;
  counters["link_gb_s"] =
      mean([](const Replay& replay) { return static_cast<double>(replay.total.bytes()); }) * runs / seconds /
      1e9;
}

std::vector<LevelResult> levels_of(const TrialModel& trial, const Replay& replay, const RunBound& bound) {
  std::vector<LevelResult> levels;
  levels.reserve(replay.levels.size());
  for (std::size_t i = 0; i < replay.levels.size(); ++i) {
    levels.push_back({replay.active[i], trial.edges[i], bound.levels_s[i], replay.levels[i].count(),
                      replay.levels[i].bytes()});
  }
  return levels;
}

}  // namespace

Measurement walk_row(const TraversalModel& model, const WalkRequest& walk, const model::Link& link) {
  std::vector<RunBound> bounds;
  std::vector<double> seconds;
  for (const TrialModel& trial : model.trials) {
    check(trial, trial.walks.at(walk));
    bounds.push_back(bound_of(trial, walk, link));
    seconds.push_back(bounds.back().seconds);
  }
  Measurement measurement = modelled_row(model, seconds);
  measurement.verification = kVerification;
  measurement.timing.timed = "nothing: the link's bound, level by level";
  measurement.traffic = mean_traffic(model.trials, walk);
  measurement.bytes = asked_bytes(model, walk.edge_bytes);
  measurement.link_bytes_asked = measurement.bytes;
  measurement.link_bytes_least = measurement.traffic->bytes;
  add_counters(measurement, model.trials, walk, bounds);
  const TrialModel& first = model.trials.front();
  measurement.levels = levels_of(first, first.walks.at(walk), bounds.front());
  return measurement;
}

}  // namespace grainscope::harness
