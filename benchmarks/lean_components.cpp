#include <array>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lean_cc.hpp"
#include "grainscope/model/lean_cc.hpp"
#include "grainscope/model/link.hpp"
#include "lean_case.hpp"
#include "lean_tiers.hpp"

namespace grainscope::harness {
namespace {

bool equal(const lean::LinkReads& read, const model::Requests& link, std::uint64_t hot) {
  return read.sectors * model::kSectorBytes == link.bytes() && read.elements == link.elements &&
         read.hot == hot;
}

// What every run reads is the same, and the model's.
model::LeanCc hold_against_model(const std::array<lean::LinkReads, 2>& reads, const Tiers& tiers,
                                 const LoadedGraph& graph) {
  model::LeanCc cc = model::replay_cc(tiers.pushed(graph));
  if (!equal(reads[0], cc.sampling, cc.sampling_hot) || !equal(reads[1], cc.rest, cc.rest_hot)) {
    throw FailedError("connected components did not read what their model does: one of them is wrong");
  }
  return cc;
}

}  // namespace

Measurement measure_lean_cc(Session& session, const LeanPoint& point, const LoadedGraph& graph) {
  const Tiers tiers = plan_tiers(point, graph);
  const auto lists = lean::place_lean(tiers.placement(point, graph));
  const auto components = lean::make_lean_cc(*lists);
  // The first run loads kernels: nobody's trial.
  static_cast<void>(components->run());
  const model::LeanCc modelled = hold_against_model(components->count(), tiers, graph);
  const model::Requests total = modelled.total();
  const std::uint64_t edges_read = total.elements + modelled.sampling_hot + modelled.rest_hot;

  Measurement measurement;
  double inverse = 0;
  measurement.samples = session.trials(point.trials, [&](int number) {
    const double seconds = components->run();
    measurement.verification = graph::certify_cc(graph.csr(), graph.components(), components->labels()) +
                               "; every trial; what is read over the link is what its model reads";
    const double teps = static_cast<double>(graph.csr().edges()) / 2 / seconds;
    inverse += 1 / teps;
    measurement.trials.push_back({"trial:" + std::to_string(number),
                                  {seconds},
                                  {{"edges_read", static_cast<double>(edges_read)}, {"teps", teps}},
                                  total.bytes()});
    return seconds;
  });
  measurement.timing = {Clock::event, false, "all kernels between two events, clearing their state included"};
  measurement.bytes = edges_read * sizeof(graph::Vertex);
  measurement.link_bytes = total.bytes();
  measurement.traffic = traffic_of(total);
  measurement.graph = graph.facts();
  measurement.limit = host_link_limit(session.machine(), point.gpu);
  measurement.link_peak_gb_s = session.link_peak_gb_s(LinkPath::host_to_gpu(point.node, point.gpu));
  const model::Link link = model::link_measured(*measurement.link_peak_gb_s);
  double least_s = 0;
  for (const model::Requests& part : {modelled.sampling, modelled.rest}) {
    least_s += part.count() > 0 ? model::bound(link, part, 0).seconds() : 0;
  }
  auto& counters = measurement.counters;
  counters["edges_read"] = static_cast<double>(edges_read);
  counters["hot_edges_read"] = static_cast<double>(modelled.sampling_hot + modelled.rest_hot);
  counters["outside"] = static_cast<double>(modelled.outside);
  counters["teps"] = static_cast<double>(measurement.trials.size()) / inverse;
  counters["hot_bytes"] = static_cast<double>(lists->hot_bytes());
  counters["gpu_bytes"] = static_cast<double>(lists->gpu_bytes() + components->gpu_bytes());
  counters["prepare_s"] = graph.order_s();
  counters["tier_s"] = tiers.planned_s;
  counters["modelled_s"] = least_s;
  counters["modelled_over_measured"] = least_s / measurement.samples.summary.median;
  return measurement;
}

}  // namespace grainscope::harness
