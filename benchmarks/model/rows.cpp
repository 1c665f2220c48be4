// The rows of modelled traversals: one of every walk over the edge list, one of every card that holds a part
// of it.

#include <algorithm>
#include <cmath>

#include "case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "runs.hpp"

namespace grainscope::harness {
namespace {

using model::Replay;
using model::Requests;

const char* const kWalkVerification =
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

void check_walk(const TrialModel& trial, const Replay& replay) {
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
Traffic mean_traffic(const TrialModels& trials, const WalkRequest& walk) {
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

void add_counters_walk(Measurement& measurement, const TrialModels& trials, const WalkRequest& walk,
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
    check_walk(trial, trial.walks.at(walk));
    bounds.push_back(bound_of(trial, walk, link));
    seconds.push_back(bounds.back().seconds);
  }
  Measurement measurement = modelled_row(model, seconds);
  measurement.verification = kWalkVerification;
  measurement.timing.timed = "nothing: the link's bound, level by level";
  measurement.traffic = mean_traffic(model.trials, walk);
  measurement.bytes = asked_bytes(model, walk.edge_bytes);
  measurement.link_bytes_asked = measurement.bytes;
  measurement.link_bytes_least = measurement.traffic->bytes;
  add_counters_walk(measurement, model.trials, walk, bounds);
  const TrialModel& first = model.trials.front();
  measurement.levels = levels_of(first, first.walks.at(walk), bounds.front());
  return measurement;
}

namespace {

// Rows of managed memory, and what they share with those of walks.

const char* const kCardVerification =
    "pages brought less pages evicted are those that the card can hold of those touched; the different lists "
    "fit in the pages touched; a card that holds more never has more pages brought";

void check_card(const TraversalModel& model, const TrialModel& trial, const CardRequest& card) {
  const model::Paging& paging = trial.cards.at(card);
  const std::uint64_t touched = paging.touched_bytes / card.page_bytes;
  require_conserved(paging.moved_pages >= touched &&
                        paging.moved_pages - paging.evicted_pages ==
                            std::min(touched, card_pages(card, model.algorithm, model.graph.entries)),
                    trial, "pages brought, evicted and held do not match");
  require_conserved(
      paging.touched_bytes >= trial.entries * layout_of(model.algorithm, card.edge_bytes).element_bytes(),
      trial, "the pages touched are smaller than the lists on them");
  // Least recently used: what a smaller card holds, a larger one holds too.
  for (const auto& [other, moves] : trial.cards) {
    if (other.edge_bytes == card.edge_bytes && other.page_bytes == card.page_bytes &&
        other.percent >= card.percent) {
      require_conserved(moves.moved_pages <= paging.moved_pages, trial,
                        "a card of " + std::to_string(other.percent) +
                            " % has more pages brought than one of " + std::to_string(card.percent) + " %");
    }
  }
}

void add_counters_card(Measurement& measurement, const TraversalModel& model, const CardRequest& card,
                       const model::Link& link) {
  const auto mean = [&](const auto& f) {
    return mean_of(model.trials, [&](const TrialModel& trial) { return f(trial.cards.at(card)); });
  };
  auto& counters = measurement.counters;
  const std::uint64_t data =
      model.graph.entries * layout_of(model.algorithm, card.edge_bytes).element_bytes();
  const double moved = mean([](const model::Paging& paging) { return paging.moved_bytes; });
  counters["moved_bytes"] = moved;
  counters["moved_pages"] = mean([](const model::Paging& paging) { return paging.moved_pages; });
  counters["evicted_pages"] = mean([](const model::Paging& paging) { return paging.evicted_pages; });
  counters["touched_bytes"] = mean([](const model::Paging& paging) { return paging.touched_bytes; });
  counters["amplification_data_set"] = moved / static_cast<double>(data);
  counters["card_bytes"] =
      static_cast<double>(card_pages(card, model.algorithm, model.graph.entries) * card.page_bytes);
  counters["moving_s"] = moved / (link.gb_s * 1e9);
  counters["faults_s"] = counters["moved_pages"] * model::fault_cost(link).seconds;
}

}  // namespace

Measurement modelled_row(const TraversalModel& model, std::vector<double> seconds) {
  const TrialModels& trials = model.trials;
  Measurement measurement;
  measurement.modelled = true;
  double inverse_teps = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialModel& trial = trials[i];
    // Each undirected edge of the reached part once, though both its ends list it.
    const double teps = static_cast<double>(trial.entries) / (model.directed ? 1 : 2) / seconds[i];
    inverse_teps += 1 / teps;
    measurement.trials.push_back({trial.label,
                                  {seconds[i]},
                                  {{"teps", teps},
                                   {"edges_read", static_cast<double>(trial.edges_read())},
                                   {"levels", static_cast<double>(trial.active.size())},
                                   {"reached", static_cast<double>(trial.reached)}}});
  }
  measurement.counters = {
      {"teps", static_cast<double>(trials.size()) / inverse_teps},
      {"edges_read", mean_of(trials, [](const TrialModel& trial) { return trial.edges_read(); })},
      {"entries", static_cast<double>(model.graph.entries)},
      {"vertices", static_cast<double>(model.graph.vertices)}};
  measurement.samples.seconds = std::move(seconds);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.graph = model.graph;
  return measurement;
}

Measurement card_row(const TraversalModel& model, const CardRequest& card, const model::Link& link) {
  const std::uint64_t pages = data_pages(card, model.algorithm, model.graph.entries);
  if (pages < kFewestPages) {
    throw SkipError("all that is read lies on " + std::to_string(pages) + " pages of " +
                    format_bytes(card.page_bytes) + ", fewer than " + std::to_string(kFewestPages) +
                    ": too few to tell what a card that holds a part of them would do");
  }
  const model::PagingOptions options{0, card.page_bytes, link.gb_s, model::fault_cost(link).seconds, 1};
  std::vector<double> seconds;
  for (const TrialModel& trial : model.trials) {
    check_card(model, trial, card);
    seconds.push_back(model::paging_seconds(options, trial.cards.at(card).moved_pages));
  }
  Measurement measurement = modelled_row(model, seconds);
  measurement.verification = kCardVerification;
  measurement.timing.timed = "nothing: moving pages and handling faults, one after the other";
  measurement.bytes = asked_bytes(model, card.edge_bytes);
  add_counters_card(measurement, model, card, link);
  measurement.link_bytes_least = static_cast<std::uint64_t>(measurement.counters.at("moved_bytes"));
  return measurement;
}

}  // namespace grainscope::harness
