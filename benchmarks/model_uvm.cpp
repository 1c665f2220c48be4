// model/uvm: how much would managed memory move if the card held only a part of the edge list?
//
// Modelled, not validated on hardware: oversubscribing managed memory can hang a GPU that others share, so
// the suite never does it unless told to. Nothing is timed: pages are brought when a frontier's lists touch
// them, and the page that was used the longest ago goes. Time = moving + faults, without overlap.
// Source: EMOGI (VLDB 2020) 5.3.4, figures 9, 10 and 12: managed memory on graphs larger than the card.
// Limits: docs/model.md. The driver evicts blocks of 2 MiB and fills blocks that are half resident.

#include <memory>
#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "model_case.hpp"
#include "model_rows.hpp"

namespace grainscope::harness {
namespace {

using graph::Algorithm;

const char* const kFamily = "model/uvm";

constexpr Algorithm kAlgorithms[] = {Algorithm::bfs, Algorithm::sssp, Algorithm::cc, Algorithm::pr};
constexpr int kPercents[] = {25, 50, 75, 100, 125};
constexpr std::uint64_t kUsualPage = 64 * kKiB;  // what faults grow to
constexpr int kEdgeBytes = 8;                    // as in the papers

Measurement measure(const Session& session, ModelRuns& runs, ModelRuns::Claim& claim, const ModelPoint& point,
                    const CardRequest& card) {
  const auto model = runs.get(claim);
  return card_row(*model, card, point.link.get(session));
}

Explanation explain(const ModelPoint& point) {
  const std::string where =
      point.link.gpu ? "this run's copy peak" : model::link_named(point.link.name).source;
  const std::string faults =
      model::fault_cost(point.link.gpu ? model::link_measured(1) : model::link_named(point.link.name)).source;
  return {
      std::string("what managed memory moves in ") + name(point.algorithm) +
          " where the card holds a part of the edge list (and of the weights where they are read); "
          "modelled, not validated on hardware",
      "nothing: the pages of each frontier's lists are touched in ascending order on the CPU, the page "
      "used the longest ago goes; time = moving + handling faults, without overlap",
      "moved = pages brought * their size; seconds = moved / the copies' rate + pages * what the driver "
      "takes "
      "for a group of faults; amplification_data_set = moved / the data set",
      "EMOGI (VLDB 2020) 5.3.4; the link: " + where + "; faults: " + faults,
      "not validated on hardware: no shared card may be oversubscribed. The driver groups faults by their "
      "arrival, fills blocks of 2 MiB that are half resident and evicts whole ones; none of that is here"};
}

class Lister {
 public:
  Lister(const Scope& scope, std::shared_ptr<ModelRuns> runs) : scope_(scope), runs_(std::move(runs)) {}

  std::vector<Benchmark> list() {
    for (const graph::GraphSpec& graph : model_graphs(scope_)) {
      for (const Algorithm algorithm : kAlgorithms) {
        add_cards(graph, algorithm, kUsualPage, named_link("pcie3x16"));
        if (scope_.dense()) {
          add_cards(graph, algorithm, kUsualPage, named_link("pcie4x16"));
        }
        for (const ModelLink& link : measured_links(scope_)) {
          add_cards(graph, algorithm, kUsualPage, link);
        }
      }
      for (const std::uint64_t page : {4 * kKiB, 2 * kMiB}) {
        if (scope_.preset != Preset::smoke) {
          add_cards(graph, Algorithm::bfs, page, named_link("pcie3x16"));
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add_cards(const graph::GraphSpec& graph, Algorithm algorithm, std::uint64_t page,
                 const ModelLink& link) {
    const auto entries = graph.most_entries();
    if (entries && data_pages({kEdgeBytes, 100, page}, algorithm, *entries) < kFewestPages) {
      return;
    }
    for (const int percent : kPercents) {
      add({graph, algorithm, kEdgeBytes, link, model_sources(scope_)}, {kEdgeBytes, percent, page});
    }
  }

  void add(const ModelPoint& point, const CardRequest& card) {
    Benchmark benchmark =
        model_benchmark(kFamily, {{"algorithm", name(point.algorithm), AxisStyle::bare}}, point,
                        {{"card", static_cast<std::int64_t>(card.percent)},
                         {"page", static_cast<std::int64_t>(card.page_bytes)}});
    benchmark.explanation = explain(point);
    const auto claim = benchmark.skip.empty() ? claim_of(point, card) : nullptr;
    benchmark.run = [point, card, runs = runs_, claim](Session& session) {
      return measure(session, *runs, *claim, point, card);
    };
    benchmarks_.push_back(std::move(benchmark));
  }

  std::shared_ptr<ModelRuns::Claim> claim_of(const ModelPoint& point, const CardRequest& card) {
    ModelRuns::Claim claim{point.graph, point.algorithm, point.sources, scope_.graph_cache, {}, 0};
    claim.requests.cards.insert(card);
    return runs_->add(std::move(claim), scope_.repetitions);
  }

  const Scope& scope_;
  std::shared_ptr<ModelRuns> runs_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_uvm(const std::shared_ptr<ModelRuns>& runs) {
  return {kFamily,
          "How much would managed memory move if the card held only a part of the edge list?",
          {},
          [runs](const Machine& /*machine*/, const Scope& scope, const Grids& /*grids*/) {
            return Lister(scope, runs).list();
          }};
}

}  // namespace grainscope::harness
