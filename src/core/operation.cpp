#include "grainscope/core/operation.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "grainscope/core/units.hpp"

namespace grainscope {
namespace {

// Clocks tick: an event pair may be short by half a microsecond.
constexpr double kClockError_s = 0.5e-6;

double fast_sample_s(const Measurement& measurement) {
  std::vector<double> sorted = measurement.samples.seconds;
  std::sort(sorted.begin(), sorted.end());
  return quantile(sorted, 0.1) + kClockError_s;
}

// Empty where these bytes can cross in this time.
std::string why_too_fast(std::uint64_t moved, double seconds, const PhysicalLimit& limit) {
  const double rate = gb_per_s(static_cast<double>(moved), seconds);
  return rate <= limit.gb_s
             ? std::string()
             : "impossible: " + format_bytes(moved) + " in " + format_seconds(seconds) + " is " +
                   format_rate(rate) + ", above the " + format_rate(limit.gb_s) + " of " + limit.source;
}

}  // namespace

std::string why_impossible(const Measurement& measurement) {
  if (measurement.verification.empty()) {
    return "not verified: the benchmark checked nothing";
  }
  if (measurement.samples.seconds.empty()) {
    return "impossible: no samples";
  }
  const double fast_s = fast_sample_s(measurement);
  if (measurement.limit && measurement.trials.empty()) {
    const std::uint64_t moved = measurement.link_bytes_least.value_or(measurement.bytes);
    if (std::string why = why_too_fast(moved, fast_s, *measurement.limit); !why.empty()) {
      return why;
    }
  }
  if (measurement.limit) {
    // Trials differ in what they move: each is held against its own bytes.
    for (const Trial& trial : measurement.trials) {
      const double seconds = *std::min_element(trial.samples_s.begin(), trial.samples_s.end());
      std::string why = why_too_fast(trial.link_bytes, seconds + kClockError_s, *measurement.limit);
      if (!why.empty()) {
        return why + " (" + trial.label + ")";
      }
    }
  }
  if (measurement.minimum_operation_s && measurement.operations > 0) {
    const double operation_s = fast_s / static_cast<double>(measurement.operations);
    if (operation_s < *measurement.minimum_operation_s) {
      return "impossible: " + format_seconds(operation_s) + " for one operation, below the possible " +
             format_seconds(*measurement.minimum_operation_s);
    }
  }
  return {};
}

}  // namespace grainscope
