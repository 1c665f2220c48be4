#include "lean_tiers.hpp"

#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/statistics.hpp"

namespace grainscope::harness {
namespace {

constexpr int kSampleSearches = 4;  // that reuse is learnt from, none of them a trial's

lean::HotTier plan(const LeanPoint& point, const LoadedGraph& loaded, const graph::Csr& lists) {
  const std::uint64_t elements = lists.edges() * static_cast<std::uint64_t>(point.hot) / 100;
  if (*point.tier != lean::TierPolicy::reuse) {
    return lean::plan_tier(lists, *point.tier, elements);
  }
  lean::ReadCounts reads = lean::no_reads(lists);
  const std::vector<graph::Vertex> sources = loaded.sources(kMostSources);
  for (int search = 0; search < kSampleSearches; ++search) {
    static_cast<void>(model::replay_bfs({&loaded.csr(), nullptr}, {&lists, nullptr},
                                        sources[sources.size() - 1 - static_cast<std::size_t>(search)], {},
                                        &reads));
  }
  return lean::plan_by_reuse(lists, reads, elements);
}

const lean::HotTier* address(const std::optional<lean::HotTier>& tier) {
  return tier ? &*tier : nullptr;
}

}  // namespace

Tiers plan_tiers(const LeanPoint& point, const LoadedGraph& loaded) {
  Tiers tiers;
  if (!point.tier) {
    return tiers;
  }
  const double begun_s = steady_now_s();
  tiers.in = plan(point, loaded, loaded.in_edges());
  if (loaded.csr().directed) {
    LeanPoint pushed = point;
    pushed.tier = *point.tier == lean::TierPolicy::reuse ? lean::TierPolicy::lists : *point.tier;
    tiers.out = plan(pushed, loaded, loaded.csr());
  } else {
    tiers.out = std::move(tiers.in);
    tiers.in.reset();
  }
  tiers.planned_s = steady_now_s() - begun_s;
  return tiers;
}

lean::LeanPlacement Tiers::placement(const LeanPoint& point, const LoadedGraph& graph) const {
  lean::LeanPlacement placement;
  placement.graph = &graph.csr();
  placement.tier = address(out);
  placement.in_edges = graph.csr().directed ? &graph.in_edges() : nullptr;
  placement.in_tier = address(in);
  placement.gpu = point.gpu;
  return placement;
}

model::TieredLists Tiers::pushed(const LoadedGraph& graph) const {
  return {&graph.csr(), address(out)};
}

model::TieredLists Tiers::pulled(const LoadedGraph& graph) const {
  return graph.csr().directed ? model::TieredLists{&graph.in_edges(), address(in)} : pushed(graph);
}

Traffic traffic_of(const model::Requests& requests) {
  Traffic traffic;
  traffic.requests = requests.count();
  for (int sectors = 1; sectors <= 4; ++sectors) {
    traffic.requests_by_size[sectors * 32] = requests.by_sectors[static_cast<std::size_t>(sectors - 1)];
  }
  traffic.bytes = requests.bytes();
  traffic.amplification = requests.elements == 0
                              ? 1
                              : static_cast<double>(requests.bytes()) /
                                    static_cast<double>(requests.elements * sizeof(graph::Vertex));
  return traffic;
}

double median_of(const std::vector<Trial>& trials, const char* counter) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const Trial& trial : trials) {
    values.push_back(trial.counters.at(counter));
  }
  return summarize(values).median;
}

void summarise_lean(const LoadedGraph& graph, const Tiers& tiers, const lean::LeanLists& lists,
                    std::uint64_t state_bytes, Measurement& measurement) {
  std::vector<double> link_bytes;
  link_bytes.reserve(measurement.trials.size());
  double inverse = 0;
  for (const Trial& trial : measurement.trials) {
    link_bytes.push_back(static_cast<double>(trial.link_bytes));
    inverse += 1 / trial.counters.at("teps");
  }
  auto& counters = measurement.counters;
  const double edges_read = median_of(measurement.trials, "edges_read");
  measurement.bytes = static_cast<std::uint64_t>(edges_read) * sizeof(graph::Vertex);
  measurement.link_bytes = static_cast<std::uint64_t>(summarize(link_bytes).median);
  measurement.graph = graph.facts();
  counters["edges_read"] = edges_read;
  counters["hot_edges_read"] = median_of(measurement.trials, "hot_edges_read");
  counters["teps"] = static_cast<double>(measurement.trials.size()) / inverse;
  counters["hot_bytes"] = static_cast<double>(lists.hot_bytes());
  counters["gpu_bytes"] = static_cast<double>(lists.gpu_bytes() + state_bytes);
  counters["prepare_s"] = graph.order_s();
  counters["tier_s"] = tiers.planned_s;
}

}  // namespace grainscope::harness
