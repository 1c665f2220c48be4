// Rows of managed memory, and what they share with those of walks.

#include <algorithm>

#include "grainscope/core/units.hpp"
#include "model_rows.hpp"
#include "model_sums.hpp"

namespace grainscope::harness {
namespace {

const char* const kVerification =
    "pages brought less pages evicted are those that the card can hold of those touched; the different lists "
    "fit in the pages touched; a card that holds more never has more pages brought";

void check(const TraversalModel& model, const TrialModel& trial, const CardRequest& card) {
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

void add_counters(Measurement& measurement, const TraversalModel& model, const CardRequest& card,
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
  const Trials& trials = model.trials;
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
    check(model, trial, card);
    seconds.push_back(model::paging_seconds(options, trial.cards.at(card).moved_pages));
  }
  Measurement measurement = modelled_row(model, seconds);
  measurement.verification = kVerification;
  measurement.timing.timed = "nothing: moving pages and handling faults, one after the other";
  measurement.bytes = asked_bytes(model, card.edge_bytes);
  add_counters(measurement, model, card, link);
  measurement.link_bytes_least = static_cast<std::uint64_t>(measurement.counters.at("moved_bytes"));
  return measurement;
}

}  // namespace grainscope::harness
