// What lean traversals decide on the host: packed weights, delta, and which segments are copied.

#include "grainscope/lean/run.hpp"

#include <algorithm>
#include <bit>

namespace grainscope::lean {

double LinkCosts::read_s(const SegmentDemand& demand) const {
  const auto requests = static_cast<double>(demand.requests);
  return std::max(static_cast<double>(demand.sectors) * sector_s + requests * header_s, requests * slot_s);
}

double LinkCosts::copied_s(std::uint64_t words) const {
  return static_cast<double>(words) * copied_word_s + copy_s;
}

StepPlan plan_step(std::span<const SegmentDemand> demands, std::uint64_t words, const LinkCosts& costs) {
  StepPlan plan;
  for (std::uint32_t segment = 0; segment < demands.size(); ++segment) {
    const SegmentDemand& demand = demands[segment];
    if (demand.requests == 0) {
      continue;
    }
    const std::uint64_t size = std::min(kSegmentWords, words - segment * kSegmentWords);
    const bool copied = costs.copied_s(size) < costs.read_s(demand);
    plan.seconds += copied ? costs.copied_s(size) : costs.read_s(demand);
    if (copied) {
      plan.copied_words += size;
    } else {
      plan.read.sectors += demand.sectors;
      plan.read.requests += demand.requests;
    }
    const bool goes_on =
        !plan.runs.empty() && plan.runs.back().copied == copied &&
        (copied ? plan.runs.back().last == segment && segment - plan.runs.back().first < kSegmentsAtOnce
                : true);
    if (goes_on) {
      plan.runs.back().last = segment + 1;
    } else {
      plan.runs.push_back({segment, segment + 1, copied});
    }
  }
  return plan;
}

int vertex_bits(const graph::Csr& graph) {
  return graph.vertices() < 2 ? 1 : static_cast<int>(std::bit_width(graph.vertices() - 1));
}

WeightBounds weight_bounds(const graph::Csr& graph) {
  graph::Weight most = 0;
  graph::Weight least = graph.weighted() ? graph.weights[0] : 0;
#pragma omp parallel for reduction(max : most) reduction(min : least)
  for (std::uint64_t i = 0; i < graph.weights.size(); ++i) {
    most = std::max(most, graph.weights[i]);
    least = std::min(least, graph.weights[i]);
  }
  return {least, most};
}

bool packs_weights(const graph::Csr& graph) {
  return vertex_bits(graph) + static_cast<int>(std::bit_width(weight_bounds(graph).most)) <= 32;
}

std::uint32_t usual_delta(const graph::Csr& graph) {
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::uint64_t i = 0; i < graph.weights.size(); ++i) {
    sum += graph.weights[i];
  }
  constexpr std::uint64_t kShare = 12;
  const std::uint64_t share = sum / kShare / std::max<std::uint64_t>(1, graph.edges());
  return static_cast<std::uint32_t>(std::max<std::uint64_t>({1, share, weight_bounds(graph).least}));
}

}  // namespace grainscope::lean
