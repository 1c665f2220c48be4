#include "grainscope/lean/hybrid.hpp"

#include <algorithm>

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

}  // namespace grainscope::lean
