#ifndef GRAINSCOPE_CORE_STATISTICS_HPP
#define GRAINSCOPE_CORE_STATISTICS_HPP

// What is said of a set of samples: order statistics, which need no distribution, and no outlier removed.
// After Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace grainscope {

struct Interval {
  double low = 0;
  double high = 0;
};

// Half the width of an interval over its centre's value; infinite for a centre of 0.
[[nodiscard]] double relative_half_width(const Interval& interval, double center);

// Quantile q in [0, 1] by linear interpolation between the two nearest order statistics.
// `sorted` ascending, at least one value.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

// 1-based ranks of the 95 % interval of a median: ⌊(n − 1.96 √n)/2⌋ and n + 1 − that.
// Empty below n = 8, where such an interval does not reach 95 % in general.
struct Ranks {
  std::size_t low = 0;
  std::size_t high = 0;
};
[[nodiscard]] std::optional<Ranks> median_ranks(std::size_t n);

// The 95 % rank interval of the median; `sorted` ascending. Empty for fewer than 8 values.
[[nodiscard]] std::optional<Interval> median_interval(std::span<const double> sorted);

struct Summary {
  std::size_t n = 0;
  double median = 0;
  std::optional<Interval> ci95;  // of the median; absent for n < 8
  double mad = 0;                // median absolute deviation, not scaled
  double p5 = 0;
  double p95 = 0;
  double min = 0;
  double max = 0;
  bool bimodal = false;
};

// Throws std::invalid_argument for an empty set or a value that is not finite.
[[nodiscard]] Summary summarize(std::span<const double> samples);

// Whether the values fall into two clusters with nothing much between them: each holds a tenth of the
// values (and four), the gap is a twentieth of the median, and a split there leaves clusters whose
// spread is small against their distance. Tails alone do not count as a second mode.
[[nodiscard]] bool is_bimodal(std::span<const double> sorted);

}  // namespace grainscope

#endif
