#include "grainscope/core/measurement.hpp"

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

}  // namespace

std::string why_impossible(const Measurement& measurement) {
  if (measurement.verification.empty()) {
    return "not verified: the benchmark checked nothing";
  }
  if (measurement.samples.seconds.empty()) {
    return "impossible: no samples";
  }
  const double fast_s = fast_sample_s(measurement);
  if (measurement.limit) {
    const std::uint64_t moved = measurement.link_bytes.value_or(measurement.bytes);
    const double rate = gb_per_s(static_cast<double>(moved), fast_s);
    if (rate > measurement.limit->gb_s) {
      return "impossible: " + format_bytes(moved) + " in " + format_seconds(fast_s) + " is " +
             format_rate(rate) + ", above the " + format_rate(measurement.limit->gb_s) + " of " +
             measurement.limit->source;
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
