#ifndef GRAINSCOPE_LEAN_HYBRID_HPP
#define GRAINSCOPE_LEAN_HYBRID_HPP

// By segment of the lists and by step, whichever takes less time over a link: reading what is asked for where
// it lies, or copying the segment whole into GPU memory and reading it there. After HyTGraph (Wang, Ai,
// Zhang, Chen and Yu, ICDE 2023).

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/lean/steps.hpp"

namespace grainscope::lean {

inline constexpr std::uint64_t kSegmentWords = std::uint64_t{4} << 20;  // of four bytes: 16 MiB
inline constexpr std::uint32_t kSegmentsAtOnce = 8;  // copied together; two such groups take turns

[[nodiscard]] constexpr std::uint64_t segments_of(std::uint64_t words) {
  return (words + kSegmentWords - 1) / kSegmentWords;
}
// Of GPU memory that segments of lists of `words` words are copied into: two groups.
[[nodiscard]] constexpr std::uint64_t staged_words(std::uint64_t words) {
  return 2 * std::min<std::uint64_t>(segments_of(words), kSegmentsAtOnce) * kSegmentWords;
}

// What a step asks of a segment: requests of up to a line, and the sectors in them, for the lists that begin
// there, each by itself. The layout is the GPU's counters'.
struct SegmentDemand {
  unsigned long long sectors = 0;
  unsigned long long requests = 0;
  friend bool operator==(const SegmentDemand&, const SegmentDemand&) = default;
};
// Of a list's words.
[[nodiscard]] constexpr SegmentDemand demand_of(const Step& words) {
  if (words.from == words.to) {
    return {};
  }
  return {sectors_of(words), (words.to - 1) / kLineElements - words.from / kLineElements + 1};
}

// What a link takes, in seconds.
struct LinkCosts {
  double sector_s = 0;  // on the wire
  double header_s = 0;  // of a request, on the wire
  double slot_s = 0;    // a request's share of the round trips under way at once
  double copied_word_s = 0;
  double copy_s = 0;  // to submit a copy and what waits for it
  [[nodiscard]] double read_s(const SegmentDemand& demand) const;
  [[nodiscard]] double copied_s(std::uint64_t words) const;
};

// What this machine reaches over whole segments, decimal GB/s.
struct SegmentRates {
  double copied_gb_s = 0;
  double read_gb_s = 0;
};
class LeanLists;
// Over segments of these lists, copied and read by turns, medians of several; of lists without a segment's
// worth as far as they go. In a build without CUDA always SkipError.
[[nodiscard]] SegmentRates measure_segment_rates(const LeanLists& lists);

// Segments [first, last), read or copied.
struct SegmentRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool copied = false;
  friend bool operator==(const SegmentRun&, const SegmentRun&) = default;
};
struct StepPlan {
  std::vector<SegmentRun> runs;  // ascending; segments that nothing is asked of may be left out
  SegmentDemand read;            // of what is not copied
  std::uint64_t copied_words = 0;
  double seconds = 0;  // of the link: everything one after the other
};
// Of lists of `words` words. Runs that are copied are no longer than kSegmentsAtOnce.
[[nodiscard]] StepPlan plan_step(std::span<const SegmentDemand> demands, std::uint64_t words,
                                 const LinkCosts& costs);

}  // namespace grainscope::lean

#endif
