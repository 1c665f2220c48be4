#include "grainscope/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace grainscope {
namespace {

constexpr double kZ95 = 1.959963984540054;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Sum of squared distances from the mean, in two passes: E[x²] − mean² loses the digits that matter.
double squared_spread(std::span<const double> values, double mean) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [mean](double sum, double x) { return sum + (x - mean) * (x - mean); });
}

}  // namespace

double relative_half_width(const Interval& interval, double center) {
  if (center == 0) {
    return std::numeric_limits<double>::infinity();
  }
  return (interval.high - interval.low) / 2 / std::abs(center);
}

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

std::optional<Ranks> median_ranks(std::size_t n) {
  if (n < 8) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(n);
  const auto low = static_cast<std::size_t>(std::floor((count - kZ95 * std::sqrt(count)) / 2));
  return Ranks{low, n + 1 - low};
}

std::optional<Interval> median_interval(std::span<const double> sorted) {
  const auto ranks = median_ranks(sorted.size());
  if (!ranks) {
    return std::nullopt;
  }
  return Interval{sorted[ranks->low - 1], sorted[ranks->high - 1]};
}

bool is_bimodal(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  const std::size_t smallest = std::max<std::size_t>(4, (n + 9) / 10);
  if (n < 2 * smallest) {
    return false;
  }
  // The widest gap that leaves both sides large enough is where two modes would part.
  std::size_t split = smallest;
  for (std::size_t i = smallest; i + smallest <= n; ++i) {
    if (sorted[i] - sorted[i - 1] > sorted[split] - sorted[split - 1]) {
      split = i;
    }
  }
  const double gap = sorted[split] - sorted[split - 1];
  if (gap < 0.05 * quantile(sorted, 0.5)) {
    return false;
  }
  const auto lower = sorted.first(split);
  const auto upper = sorted.subspan(split);
  const double lower_mean = mean_of(lower);
  const double upper_mean = mean_of(upper);
  const double pooled = std::sqrt((squared_spread(lower, lower_mean) + squared_spread(upper, upper_mean)) /
                                  static_cast<double>(n));
  // Ashman's D, above what halves of one broad mode reach, and a gap that stands out of both clusters.
  return upper_mean - lower_mean > 6 * pooled && gap > 2 * pooled;
}

Summary summarize(std::span<const double> samples) {
  if (samples.empty()) {
    throw std::invalid_argument("no samples to summarise");
  }
  if (!std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); })) {
    throw std::invalid_argument("a sample is not a finite number");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.n = sorted.size();
  summary.median = quantile(sorted, 0.5);
  summary.ci95 = median_interval(sorted);
  summary.p5 = quantile(sorted, 0.05);
  summary.p95 = quantile(sorted, 0.95);
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.bimodal = is_bimodal(sorted);
  std::vector<double> distances(sorted.size());
  std::transform(sorted.begin(), sorted.end(), distances.begin(),
                 [&](double x) { return std::abs(x - summary.median); });
  std::sort(distances.begin(), distances.end());
  summary.mad = quantile(distances, 0.5);
  return summary;
}

}  // namespace grainscope
