#ifndef GRAINSCOPE_BENCHMARKS_LEAN_TIERS_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_TIERS_HPP

// What of a graph's lists is hot in a lean case, and what its model's requests are in a row.

#include <cstdint>
#include <optional>
#include <vector>

#include "grainscope/model/lean_bfs.hpp"
#include "lean_case.hpp"

namespace grainscope::harness {

// Hot beginnings of both directions' lists, and how long it took to find them.
struct Tiers {
  std::optional<lean::HotTier> out;
  std::optional<lean::HotTier> in;  // of a directed graph
  double planned_s = 0;

  // The tiers and the graph outlive what is made of it.
  [[nodiscard]] lean::LeanPlacement placement(const LeanPoint& point, const LoadedGraph& graph) const;
  [[nodiscard]] model::TieredLists pushed(const LoadedGraph& graph) const;
  [[nodiscard]] model::TieredLists pulled(const LoadedGraph& graph) const;
};
// Of a directed graph each direction has the same share of its lists.
[[nodiscard]] Tiers plan_tiers(const LeanPoint& point, const LoadedGraph& graph);

// Of the trials' counter its median.
[[nodiscard]] double median_of(const std::vector<Trial>& trials, const char* counter);
// What rows of searches and paths have in common, from their trials.
void summarise_lean(const LoadedGraph& graph, const Tiers& tiers, const lean::LeanLists& lists,
                    std::uint64_t state_bytes, Measurement& measurement);
[[nodiscard]] Traffic traffic_of(const model::Requests& requests);

}  // namespace grainscope::harness

#endif
