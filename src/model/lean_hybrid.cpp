#include "grainscope/model/lean_hybrid.hpp"

#include <algorithm>
#include <vector>

#include "lean_lists.hpp"

namespace grainscope::model {
namespace {

using graph::Vertex;

// A copy and what waits for it are submitted in a few calls.
constexpr double kSubmitCopy_s = 10e-6;

// Words of the lists behind the link.
std::uint64_t words_of_all(const TieredLists& lists) {
  return lists.compressed != nullptr ? lists.compressed->words.size() : lists.lists->edges();
}

// `for_each(visit)` calls visit(v) for each vertex whose list is read.
template <class ForEach>
HybridStep step_of(const TieredLists& lists, const lean::LinkCosts& costs, const ForEach& for_each) {
  const std::uint64_t words = words_of_all(lists);
  std::vector<lean::SegmentDemand> demands(lean::segments_of(words));
  for_each([&](Vertex v) {
    const lean::Step list = list_of(lists, v).words;
    const lean::SegmentDemand demand = lean::demand_of(list);
    if (demand.requests > 0) {
      lean::SegmentDemand& segment = demands[list.from / lean::kSegmentWords];
      segment.sectors += demand.sectors;
      segment.requests += demand.requests;
    }
  });
  HybridStep step{lean::plan_step(demands, words, costs), {}};
  std::vector<char> copied(demands.size());
  for (const lean::SegmentRun& run : step.plan.runs) {
    std::fill(copied.begin() + run.first, copied.begin() + run.last, run.copied ? 1 : 0);
  }
  for_each([&](Vertex v) {
    const List list = list_of(lists, v);
    if (list.words.from < list.words.to && copied[list.words.from / lean::kSegmentWords] == 0) {
      add_list(list, step.read);
    }
  });
  return step;
}

}  // namespace

lean::LinkCosts costs_of(const Link& link, const lean::SegmentRates& seen) {
  constexpr double kGiga = 1e9;
  const double byte_s = 1 / (wire_gb_s(link, seen.read_gb_s) * kGiga);
  lean::LinkCosts costs;
  costs.sector_s = static_cast<double>(kSectorBytes) * byte_s;
  costs.header_s = link.header_bytes * byte_s;
  costs.slot_s = link.round_trip_s / link.in_flight;
  costs.copied_word_s = sizeof(std::uint32_t) / (seen.copied_gb_s * kGiga);
  costs.copy_s = kSubmitCopy_s;
  return costs;
}

HybridStep hybrid_step(const TieredLists& lists, std::span<const Vertex> vertices,
                       const lean::LinkCosts& costs) {
  return step_of(lists, costs,
                 [&](const auto& visit) { std::for_each(vertices.begin(), vertices.end(), visit); });
}

HybridStep hybrid_step(const TieredLists& lists, const lean::LinkCosts& costs) {
  return step_of(lists, costs, [&](const auto& visit) {
    for (Vertex v = 0; v < lists.lists->vertices(); ++v) {
      visit(v);
    }
  });
}

}  // namespace grainscope::model
