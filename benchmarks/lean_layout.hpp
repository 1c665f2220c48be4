#ifndef GRAINSCOPE_BENCHMARKS_LEAN_LAYOUT_HPP
#define GRAINSCOPE_BENCHMARKS_LEAN_LAYOUT_HPP

// What of a graph's lists is hot in a lean case, and how the rest lies behind the link.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "grainscope/lean/run.hpp"
#include "grainscope/model/lean.hpp"
#include "lean_case.hpp"

namespace grainscope::harness {

// How many edges of one direction fit into its part of a budget in bytes, beside the offsets of where each
// list's hot part begins; no more than there are. `weighted`: each has four bytes of weight beside its own.
// Throws SkipError where none fits.
[[nodiscard]] std::uint64_t hot_elements(const graph::Csr& lists, const HotBudget& budget,
                                         std::uint64_t directions, bool weighted);

// Of a directed graph each direction has the same share of its lists hot. The graph outlives it, and it what
// is placed by it.
class LeanLayout {
 public:
  LeanLayout(const LeanPoint& point, const LoadedGraph& graph);

  [[nodiscard]] lean::LeanPlacement placement() const;
  [[nodiscard]] model::TieredLists pushed() const;
  [[nodiscard]] model::TieredLists pulled() const;
  // What it took: tier_s, and of compressed lists compress_s, first neighbours' too, and bits_per_edge.
  [[nodiscard]] const std::map<std::string, double>& counters() const { return counters_; }

 private:
  struct Direction {
    std::optional<lean::HotTier> tier;
    std::optional<lean::CompressedLists> compressed;
    std::optional<lean::Firsts> firsts;  // of lists that are pulled from
    [[nodiscard]] model::TieredLists of(const graph::Csr& lists) const;
  };
  void plan_tiers();
  void compress();
  // Of lists that have nothing hot, side by side: for searches and components.
  void place_firsts();

  const LeanPoint& point_;
  const LoadedGraph& graph_;
  bool directed_;  // and both directions are read
  Direction out_;
  Direction in_;  // where directed
  std::map<std::string, double> counters_;
};

}  // namespace grainscope::harness

#endif
