#include "gather_own.hpp"

#include <optional>
#include <utility>

#include "gnn_case.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {

FeatureFacts facts_of(const gnn::NpyFile& own) {
  return {own.rows(), own.columns(), own.element()};
}

std::string why_no_own_store(const Machine& machine, const GatherPoint& point, const GatherSite& site) {
  if (!site.gpu) {
    return {};
  }
  if (!site.gpu->unavailable.empty()) {
    return site.gpu->unavailable;
  }
  return shares_memory(point) ? why_no_mapping(machine, site.gpu->ordinal) : std::string();
}

Needs own_gather_needs(const SampledPoint& sampled, const GatherSite& site) {
  const GatherPoint& point = sampled.gather;
  Needs needs;
  needs.host_bytes = gnn_host_bytes(sampled.spec);
  if (!site.gpu) {
    needs.host_bytes += point.asked_bytes();
    return needs;
  }
  needs.host_bytes += point.span_bytes;
  needs.device_bytes =
      gnn::store_bytes(store_request(point, site), point.span_bytes).own +
      gnn::gather_bytes(point.mode, point.asked_rows(), point.row_bytes, gather_lists(point.asked_rows()));
  return needs;
}

Measurement measure_own_gather(Session& session, const SampledPoint& sampled, const GatherSite& site,
                               const SampledTrace& trace, const std::shared_ptr<const gnn::NpyFile>& own,
                               OwnTableCache& tables, OwnTableCache::Claim* claim) {
  const NodeBinding binding(session.machine().topology, site.node);
  const GatherPoint& point = sampled.gather;
  gnn::RowLists lists = lists_of_trace(trace.trace, gather_lists(point.asked_rows()), point.window);
  std::optional<OwnTableCache::Lease> lease;
  std::unique_ptr<gnn::FeatureStore> store;
  if (claim == nullptr) {
    for (std::vector<std::uint32_t>& list : lists) {
      for (std::uint32_t& row : list) {
        row = trace.vertex_of_row[row];
      }
    }
    store = gnn::make_file_store(own);
  } else {
    lease.emplace(tables, *claim, [&](const OwnTableKey&) {
      auto made = std::make_unique<OwnTable>();
      made->features = gnn::Features(own, trace.vertex_of_row);
      made->table = gnn::make_pinned_table(own->rows(), made->features);
      return made;
    });
    store = gnn::make_table_store(store_request(point, site), *(*lease)->table, (*lease)->features);
  }
  Measurement measurement = measure_store(session, point, site, lists, *store);
  measurement.features = facts_of(*own);
  return measurement;
}

}  // namespace grainscope::harness
