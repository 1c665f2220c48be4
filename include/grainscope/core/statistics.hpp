#ifndef GRAINSCOPE_CORE_STATISTICS_HPP
#define GRAINSCOPE_CORE_STATISTICS_HPP

// What is said of a set of samples: order statistics, which need no distribution, and no outlier removed.
// After Hoefler and Belli, "Scientific benchmarking of parallel computing systems", SC 2015.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
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

// What a value would differ by if it were measured again, in the terms of the Guide to the Expression of
// Uncertainty in Measurement (JCGM 100:2008). Values are logarithms of times, so every uncertainty is
// relative: 0.01 is one percent.

// A standard uncertainty and the degrees of freedom that it was found with; infinite where it is known.
struct Uncertainty {
  double standard = 0;
  double freedom = 0;
};

// The value below which Student's t lies with this probability, in (0, 1). `freedom` > 0, may be infinite.
[[nodiscard]] double student_quantile(double probability, double freedom);

// Both together, with the effective degrees of freedom of Welch and Satterthwaite.
[[nodiscard]] Uncertainty combined(const Uncertainty& a, const Uncertainty& b);

// Half the width of the interval that holds the value with 95 % probability.
[[nodiscard]] double expanded(const Uncertainty& uncertainty);
// That interval around a time or a rate.
[[nodiscard]] Interval interval_around(double value, const Uncertainty& uncertainty);

// What the variances of rows that are alike have in common: their scale, and what it is worth in degrees of
// freedom. No freedom: nothing is known.
struct VariancePrior {
  double variance = 0;
  double freedom = 0;
};
// Fits the prior that drew these sample variances, each with `freedom` degrees of freedom; none of fewer than
// 8. Source: Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 3 (2004).
[[nodiscard]] VariancePrior fit_prior(std::span<const double> variances, double freedom);

// The visits to one case: their medians in seconds, and whom they may be pooled with.
struct VisitMedians {
  std::string family;
  std::string clock;
  std::vector<double> medians_s;
  VariancePrior known = {};  // of visits of that family on that clock in other runs
  double share = 1;          // the variance of visits to it over that to the others, in other runs
};

// Which visit stands for all: that with the middle median, of an even number the lower of the two in the
// middle, of equals the first. At least one.
[[nodiscard]] std::size_t middle_visit(std::span<const double> medians_s);

struct TypeA {
  std::optional<Uncertainty> uncertainty;  // of the middle visit's median; none: nothing is known of it
  bool visits_differ = false;              // three times as much as those of cases that are alike
};
// The uncertainty of each case's middle visit. Three values alone tell too little of their spread, so the
// variance of a case, over its share, is moderated by those of its family on its clock in this run; where
// these are fewer than 8, by what is `known` from others; else by those of all families on that clock; else
// it stands alone. Nothing for one visit that no prior helps.
[[nodiscard]] std::vector<TypeA> type_a(const std::vector<VisitMedians>& cases);

}  // namespace grainscope

#endif
