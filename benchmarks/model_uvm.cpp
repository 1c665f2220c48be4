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

const char* const kFamily = "model/uvm";

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

  std::vector<Benchmark> list(const Grids& grids) {
    for (const auto& [point, values] : model_points(scope_, grids)) {
      const CardRequest card{point.edge_bytes, values.number_as<int>("card"), values.number("page")};
      const auto entries = point.graph.most_entries();
      if (entries &&
          data_pages({card.edge_bytes, 100, card.page_bytes}, point.algorithm, *entries) < kFewestPages) {
        grids.leave_out("the edges of " + point.graph.name() + " are on fewer than " +
                        std::to_string(kFewestPages) + " pages of " + format_bytes(card.page_bytes));
      } else {
        add(point, card);
      }
    }
    return std::move(benchmarks_);
  }

 private:
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
    return runs_->add(std::move(claim), 1);
  }

  const Scope& scope_;
  std::shared_ptr<ModelRuns> runs_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family model_uvm(const std::shared_ptr<ModelRuns>& runs) {
  return {kFamily, "How much would managed memory move if the card held only a part of the edge list?",
          model_axes({number_axis("card", "percent of the data's pages that the card holds", {1, 1000}),
                      size_axis("page", "bytes that are brought at once", {64, kGiB}, false, "64KiB")}),
          [runs](const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
            return Lister(scope, runs).list(grids);
          }};
}

}  // namespace grainscope::harness
