#ifndef GRAINSCOPE_BENCHMARKS_MODEL_SUMS_HPP
#define GRAINSCOPE_BENCHMARKS_MODEL_SUMS_HPP

// Means over the trials of a model, and its complaint.

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "model_trials.hpp"

namespace grainscope::harness {

using Trials = std::vector<TrialModel>;

// The mean of what f says of each trial.
template <class F>
[[nodiscard]] double mean_of(const Trials& trials, const F& f) {
  const double sum = std::accumulate(
      trials.begin(), trials.end(), 0.0,
      [&](double so_far, const TrialModel& trial) { return so_far + static_cast<double>(f(trial)); });
  return sum / static_cast<double>(trials.size());
}

// Throws FailedError, with `what` cannot be right about a trial, unless `right`.
inline void require_conserved(bool right, const TrialModel& trial, const std::string& what) {
  if (!right) {
    throw FailedError("wrong model, " + trial.label + ": " + what);
  }
}

// Bytes that the edges read have (with their weights), the mean over trials.
[[nodiscard]] inline std::uint64_t asked_bytes(const TraversalModel& model, int edge_bytes) {
  const double edges = mean_of(model.trials, [](const TrialModel& trial) { return trial.edges_read(); });
  const std::uint64_t element = layout_of(model.algorithm, edge_bytes).element_bytes();
  return static_cast<std::uint64_t>(std::llround(edges * static_cast<double>(element)));
}

}  // namespace grainscope::harness

#endif
