#include "grainscope/core/operation.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "grainscope/core/units.hpp"

namespace grainscope {
namespace {

// Clocks tick: an event pair may be short by half a microsecond.
constexpr double kClockError_s = 0.5e-6;

double fast_sample_s(const Measurement& measurement) {
  std::vector<double> sorted = measurement.samples.seconds;
  if (measurement.in_turn) {
    return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size()) +
           kClockError_s;
  }
  std::sort(sorted.begin(), sorted.end());
  return quantile(sorted, 0.1) + kClockError_s;
}

// Empty where these bytes can cross in this time.
std::string why_too_fast(std::uint64_t moved, double seconds, const PhysicalLimit& limit) {
  const double rate = gb_per_s(static_cast<double>(moved), seconds);
  return limit.gb_s == 0 || rate <= limit.gb_s
             ? std::string()
             : "impossible: " + format_bytes(moved) + " in " + format_seconds(seconds) + " is " +
                   format_rate(rate) + ", above the " + format_rate(limit.gb_s) + " of " + limit.source;
}

// Bytes over a link, else those asked for.
std::uint64_t moved_by(const Measurement& measurement) {
  const std::uint64_t crossed = measurement.link_bytes_least.value_or(0);
  return crossed > 0 ? crossed : measurement.bytes;
}

// Of what passes around a sample by another clock, the sample is the most. Beside it a call of either clock
// may stand on the host, and on a GPU what is submitted before and waited for behind.
constexpr double kLeastOfAround = 0.6;
constexpr double kMostOfAround = 1.02;
constexpr double kBeside_s = 15e-6;

// Empty where both clocks can be right.
std::string why_clocks_differ(const Measurement& measurement) {
  if (!measurement.around_s) {
    return {};
  }
  const double median_s = measurement.samples.summary.median;
  if (median_s + kBeside_s >= kLeastOfAround * *measurement.around_s &&
      median_s - kBeside_s <= kMostOfAround * *measurement.around_s) {
    return {};
  }
  return "impossible: samples of " + format_seconds(median_s) + ", around each of which " +
         format_seconds(*measurement.around_s) + " passed by another clock";
}

}  // namespace

std::string why_impossible(const Measurement& measurement) {
  if (measurement.verification.empty()) {
    return "not verified: the benchmark checked nothing";
  }
  if (measurement.samples.seconds.empty()) {
    return "impossible: no samples";
  }
  if (std::string why = why_clocks_differ(measurement); !why.empty()) {
    return why;
  }
  if (!measurement.limit) {
    return {};
  }
  const PhysicalLimit& limit = *measurement.limit;
  const double fast_s = fast_sample_s(measurement);
  if (measurement.trials.empty()) {
    if (std::string why = why_too_fast(moved_by(measurement), fast_s, limit); !why.empty()) {
      return why;
    }
  }
  // Trials differ in what they move: each is compared with its own bytes.
  for (const Trial& trial : measurement.trials) {
    const double seconds = *std::min_element(trial.samples_s.begin(), trial.samples_s.end());
    const std::uint64_t moved = trial.link_bytes > 0 ? trial.link_bytes : trial.bytes;
    if (std::string why = why_too_fast(moved, seconds + kClockError_s, limit); !why.empty()) {
      return why + " (" + trial.label + ")";
    }
  }
  const double operation_s = fast_s / static_cast<double>(std::max<std::uint64_t>(1, measurement.operations));
  if (operation_s < limit.operation_s) {
    return "impossible: " + format_seconds(operation_s) + " for one operation, below the possible " +
           format_seconds(limit.operation_s) + " of " + limit.source;
  }
  return {};
}

}  // namespace grainscope
