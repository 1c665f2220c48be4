#ifndef GRAINSCOPE_BENCHMARKS_MODEL_ROWS_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_ROWS_HPP

// From what a model says of an algorithm on a graph to a row about one walk or one card over one link. Both
// check what was counted before they say anything, and throw FailedError where it cannot be right.

#include "model_trials.hpp"

namespace grainscope::harness {

// A walk: requests, bytes, and the sum over levels of the link's bound.
[[nodiscard]] Measurement walk_row(const TraversalModel& model, const WalkRequest& walk,
                                   const model::Link& link);

// Managed memory on a card. Throws SkipError where there are too few pages to hold a part of.
[[nodiscard]] Measurement card_row(const TraversalModel& model, const CardRequest& card,
                                   const model::Link& link);

// Pages that can be held in part: of fewer a quarter is hardly told from a half.
inline constexpr std::uint64_t kFewestPages = 8;

// The common part: modelled seconds, one a trial, with trials, TEPS and the graph.
[[nodiscard]] Measurement modelled_row(const TraversalModel& model, std::vector<double> seconds);

}  // namespace grainscope::harness

#endif
