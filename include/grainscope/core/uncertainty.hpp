#ifndef GRAINSCOPE_CORE_UNCERTAINTY_HPP
#define GRAINSCOPE_CORE_UNCERTAINTY_HPP

// What a value would differ by if it were measured again, in the terms of the Guide to the Expression of
// Uncertainty in Measurement (JCGM 100:2008). Values are logarithms of times, so every uncertainty is
// relative: 0.01 is one percent.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grainscope/core/statistics.hpp"

namespace grainscope {

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
};

// Which visit stands for all: that with the middle median, of an even number the lower of the two in the
// middle, of equals the first. At least one.
[[nodiscard]] std::size_t middle_visit(std::span<const double> medians_s);

struct TypeA {
  std::optional<Uncertainty> uncertainty;  // of the middle visit's median; none: nothing is known of it
  bool visits_differ = false;              // three times as much as those of cases that are alike
};
// The uncertainty of each case's middle visit. Three values alone tell too little of their spread, so the
// variance of a case is moderated by those of its family on its clock in this run; where these are fewer than
// 8, by what is `known` from others; else by those of all families on that clock; else it stands alone.
// Nothing for one visit that no prior helps.
[[nodiscard]] std::vector<TypeA> type_a(const std::vector<VisitMedians>& cases);

}  // namespace grainscope

#endif
