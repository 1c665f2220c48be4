#include "grainscope/core/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

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

namespace {

constexpr std::size_t kFewestForPrior = 8;
constexpr double kTiny = 1e-12;
constexpr double kCoverage = 0.95;
// From so many degrees of freedom on Student's t is the normal distribution, in seven digits.
constexpr double kMany = 1e7;
// So many times the usual spread is no luck of three visits.
constexpr double kDiffers = 3;

// The regularised incomplete beta function, by its continued fraction from behind.
double incomplete_beta(double x, double a, double b) {
  if (x > (a + 1) / (a + b + 2)) {
    return 1 - incomplete_beta(1 - x, b, a);
  }
  if (x <= 0) {
    return 0;
  }
  double fraction = 1;
  // It converges within some roots of the larger parameter.
  for (int m = 20 + static_cast<int>(3 * std::sqrt(std::max(a, b))); m > 0; --m) {
    fraction = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / fraction;
    fraction = 1 - (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1)) / fraction;
  }
  const double scale = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  return std::exp(scale + a * std::log(x) + b * std::log1p(-x)) / (a * fraction);
}

// The probability that Student's t lies below `t`.
double student_below(double t, double freedom) {
  const double tail = freedom > kMany ? std::erfc(std::abs(t) / std::sqrt(2)) / 2
                                      : incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t > 0 ? 1 - tail : tail;
}

// digamma(x) less log(x), and trigamma(x), by their asymptotic series from where these are exact.
double digamma_less_log(double x) {
  double sum = -std::log(x);
  while (x < 10) {
    sum -= 1 / x;
    x += 1;
  }
  const double y = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

double trigamma(double x) {
  double sum = 0;
  while (x < 10) {
    sum += 1 / (x * x);
    x += 1;
  }
  const double y = 1 / (x * x);
  return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y / 42));
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// The sample variance of logarithms.
double log_variance(std::span<const double> seconds) {
  std::vector<double> logs(seconds.size());
  std::transform(seconds.begin(), seconds.end(), logs.begin(), [](double s) { return std::log(s); });
  const double center = mean(logs);
  double squares = 0;
  for (const double value : logs) {
    squares += (value - center) * (value - center);
  }
  return squares / static_cast<double>(logs.size() - 1);
}

// The variance of the middle one of so many values over that of one: of normal values, from n = 3 on within
// 2 %. That of the lower of two in the middle, as an error of their mean, is that of one value fewer.
double middle_share(std::size_t values) {
  const auto odd = static_cast<double>(values % 2 == 1 ? values : values - 1);
  return std::numbers::pi / (2 * odd + std::numbers::pi - 2);
}

// Priors by a key of a case: its family and clock, or its clock.
template <class KeyOf>
auto priors_by(const std::vector<VisitMedians>& cases, const KeyOf& key_of) {
  using Key = decltype(key_of(cases.front()));
  // Only cases with equally many visits make a prior: those that most have.
  std::map<Key, std::map<std::size_t, std::vector<double>>> variances;
  for (const VisitMedians& each : cases) {
    if (each.medians_s.size() > 1) {
      variances[key_of(each)][each.medians_s.size()].push_back(log_variance(each.medians_s) / each.share);
    }
  }
  std::map<Key, VariancePrior> priors;
  for (const auto& [key, by_visits] : variances) {
    const auto most = std::max_element(by_visits.begin(), by_visits.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    priors[key] = fit_prior(most->second, static_cast<double>(most->first - 1));
  }
  return priors;
}

}  // namespace

double student_quantile(double probability, double freedom) {
  double low = -1;
  double high = 1;
  while (student_below(low, freedom) > probability) {
    low *= 2;
  }
  while (student_below(high, freedom) < probability) {
    high *= 2;
  }
  for (int i = 0; i < 48; ++i) {
    const double middle = (low + high) / 2;
    (student_below(middle, freedom) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

Uncertainty combined(const Uncertainty& a, const Uncertainty& b) {
  const double variance = a.standard * a.standard + b.standard * b.standard;
  const auto part = [](const Uncertainty& each) {
    return std::isinf(each.freedom) ? 0 : std::pow(each.standard, 4) / each.freedom;
  };
  const double parts = part(a) + part(b);
  return {std::sqrt(variance), parts > 0 ? variance * variance / parts : std::min(a.freedom, b.freedom)};
}

double expanded(const Uncertainty& uncertainty) {
  return student_quantile((1 + kCoverage) / 2, uncertainty.freedom) * uncertainty.standard;
}

Interval interval_around(double value, const Uncertainty& uncertainty) {
  const double factor = std::exp(expanded(uncertainty));
  return {value / factor, value * factor};
}

VariancePrior fit_prior(std::span<const double> variances, double freedom) {
  if (variances.size() < kFewestForPrior) {
    return {};
  }
  std::vector<double> logs(variances.size());
  std::transform(variances.begin(), variances.end(), logs.begin(), [&](double variance) {
    return std::log(std::max(variance, kTiny)) - digamma_less_log(freedom / 2);
  });
  const double center = mean(logs);
  double excess = -trigamma(freedom / 2);
  for (const double value : logs) {
    excess += (value - center) * (value - center) / static_cast<double>(logs.size() - 1);
  }
  // No prior is worth more than all that it was made of.
  double low = 1e-2;
  double high = freedom * static_cast<double>(logs.size());
  for (int i = 0; i < 60; ++i) {
    const double worth = std::sqrt(low * high);
    (trigamma(worth / 2) > excess ? low : high) = worth;
  }
  return {std::exp(center + digamma_less_log(high / 2)), high};
}

std::size_t middle_visit(std::span<const double> medians_s) {
  std::vector<std::size_t> order(medians_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return medians_s[a] < medians_s[b]; });
  return order[(order.size() - 1) / 2];
}

std::vector<TypeA> type_a(const std::vector<VisitMedians>& cases) {
  if (cases.empty()) {
    return {};
  }
  const auto family_of = [](const VisitMedians& each) { return std::pair(each.family, each.clock); };
  const auto clock_of = [](const VisitMedians& each) { return each.clock; };
  const auto of_families = priors_by(cases, family_of);
  const auto of_clocks = priors_by(cases, clock_of);
  const auto prior_of = [&](const VisitMedians& each) {
    const auto family = of_families.find(family_of(each));
    if (family != of_families.end() && family->second.freedom > 0) {
      return family->second;
    }
    if (each.known.freedom > 0) {
      return each.known;
    }
    const auto clock = of_clocks.find(clock_of(each));
    return clock == of_clocks.end() ? VariancePrior{} : clock->second;
  };
  std::vector<TypeA> all;
  all.reserve(cases.size());
  for (const VisitMedians& each : cases) {
    const auto visits = static_cast<double>(each.medians_s.size());
    const VariancePrior prior = prior_of(each);
    const double freedom = prior.freedom + visits - 1;
    if (visits < 1 || freedom <= 0) {
      all.emplace_back();
      continue;
    }
    const double own = visits > 1 ? log_variance(each.medians_s) / each.share : 0;
    const double variance = each.share * (prior.freedom * prior.variance + (visits - 1) * own) / freedom;
    all.push_back({Uncertainty{std::sqrt(variance * middle_share(each.medians_s.size())), freedom},
                   prior.freedom > 0 && own > kDiffers * kDiffers * prior.variance});
  }
  return all;
}

}  // namespace grainscope
