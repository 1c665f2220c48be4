#include "lean_layout.hpp"

#include <algorithm>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/lean/lists.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::harness {
namespace {

constexpr int kSampleSearches = 4;  // that reuse is learnt from, none of them a trial's

// Of the lists of one direction, which has an equal part of a budget in bytes.
lean::HotTier plan(const LeanPoint& point, const LoadedGraph& loaded, const graph::Csr& lists,
                   lean::TierPolicy policy, std::uint64_t directions) {
  const std::uint64_t elements =
      point.hot.bytes > 0
          ? hot_elements(lists, point.hot, directions,
                         point.algorithm == graph::Algorithm::sssp && !lean::packs_weights(lists))
          : lists.edges() * static_cast<std::uint64_t>(point.hot.percent) / 100;
  if (policy != lean::TierPolicy::reuse) {
    return lean::plan_tier(lists, policy, elements);
  }
  lean::ReadCounts reads = lean::no_reads(lists);
  const std::vector<graph::Vertex> sources = loaded.sources(kMostSources);
  for (int search = 0; search < kSampleSearches; ++search) {
    static_cast<void>(model::replay_bfs({&loaded.csr()}, {&lists},
                                        sources[sources.size() - 1 - static_cast<std::size_t>(search)], {},
                                        &reads));
  }
  return lean::plan_by_reuse(lists, reads, elements);
}

template <class T>
const T* address(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

}  // namespace

std::uint64_t hot_elements(const graph::Csr& lists, const HotBudget& budget, std::uint64_t directions,
                           bool weighted) {
  const std::uint64_t places = (lists.vertices() + std::uint64_t{1}) * sizeof(std::uint32_t);
  const std::uint64_t element = sizeof(graph::Vertex) + (weighted ? sizeof(graph::Weight) : 0);
  if (budget.bytes / directions < places + element) {
    throw SkipError(std::string(budget.given_by) + ": where the hot part of each list begins takes " +
                    format_bytes(directions * places) + " of GPU memory; " + format_bytes(budget.bytes) +
                    " leave nothing for edges");
  }
  return std::min(lists.edges(), (budget.bytes / directions - places) / element);
}

model::TieredLists LeanLayout::Direction::of(const graph::Csr& lists) const {
  return {&lists, address(tier), address(compressed), address(firsts)};
}

LeanLayout::LeanLayout(const LeanPoint& point, const LoadedGraph& graph)
    : point_(point),
      graph_(graph),
      directed_(graph.csr().directed && point.algorithm != graph::Algorithm::sssp) {
  plan_tiers();
  const double begun_s = steady_now_s();
  compress();
  place_firsts();
  if (point.compressed) {
    counters_["compress_s"] = steady_now_s() - begun_s;
  }
}

void LeanLayout::plan_tiers() {
  const double begun_s = steady_now_s();
  const std::uint64_t directions = directed_ ? 2 : 1;
  if (point_.tier) {
    const bool reuse = *point_.tier == lean::TierPolicy::reuse;
    // What reuse tells is of lists that are pulled from.
    out_.tier = plan(point_, graph_, graph_.csr(),
                     directed_ && reuse ? lean::TierPolicy::lists : *point_.tier, directions);
    if (directed_) {
      in_.tier = plan(point_, graph_, graph_.in_edges(), *point_.tier, directions);
    }
  }
  const auto elements = [](const Direction& direction) {
    return direction.tier ? static_cast<double>(direction.tier->elements()) : 0;
  };
  counters_["hot_percent"] =
      100 * (elements(out_) + elements(in_)) /
      static_cast<double>(std::max<std::uint64_t>(1, graph_.csr().edges() * directions));
  counters_["tier_s"] = steady_now_s() - begun_s;
}

void LeanLayout::compress() {
  if (!point_.compressed) {
    return;
  }
  const bool weights = point_.algorithm == graph::Algorithm::sssp;
  out_.compressed = lean::compress(graph_.csr(), address(out_.tier), weights);
  double bytes = static_cast<double>(out_.compressed->words.bytes());
  double elements = static_cast<double>(out_.compressed->elements);
  if (directed_) {
    in_.compressed = lean::compress(graph_.in_edges(), address(in_.tier), false);
    bytes += static_cast<double>(in_.compressed->words.bytes());
    elements += static_cast<double>(in_.compressed->elements);
  }
  constexpr double kBits = 8;
  counters_["bits_per_edge"] = elements > 0 ? bytes * kBits / elements : 0;
}

void LeanLayout::place_firsts() {
  const bool asked = point_.algorithm == graph::Algorithm::bfs || point_.algorithm == graph::Algorithm::cc;
  const graph::Csr& lists = directed_ ? graph_.in_edges() : graph_.csr();
  Direction& pulled = directed_ ? in_ : out_;
  if (asked && lean::cold_lists(lists, address(pulled.tier)) > 0) {
    pulled.firsts = lean::first_neighbours(lists, address(pulled.tier), point_.compressed);
  }
}

lean::LeanPlacement LeanLayout::placement() const {
  lean::LeanPlacement placement;
  placement.graph = &graph_.csr();
  placement.tier = address(out_.tier);
  placement.in_edges = directed_ ? &graph_.in_edges() : nullptr;
  placement.in_tier = address(in_.tier);
  placement.compressed = address(out_.compressed);
  placement.in_compressed = address(in_.compressed);
  placement.firsts = address((directed_ ? in_ : out_).firsts);
  placement.gpu = point_.gpu;
  placement.weights = point_.algorithm == graph::Algorithm::sssp;
  return placement;
}

model::TieredLists LeanLayout::pushed() const {
  return out_.of(graph_.csr());
}

model::TieredLists LeanLayout::pulled() const {
  return directed_ ? in_.of(graph_.in_edges()) : pushed();
}

}  // namespace grainscope::harness
