#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/statistics.hpp"

namespace grainscope {
namespace {

void expect_ranks(std::size_t n, std::size_t low, std::size_t high) {
  const auto ranks = median_ranks(n);
  ASSERT_TRUE(ranks.has_value()) << n;
  EXPECT_EQ(ranks->low, low) << n;
  EXPECT_EQ(ranks->high, high) << n;
}

// The chance that a median lies outside of ranks [low, n + 1 - low], were the samples independent.
double error_rate(std::size_t n, std::size_t low) {
  double sum = 0;
  for (std::size_t k = 0; k < low; ++k) {
    const auto count = static_cast<double>(n);
    const auto picked = static_cast<double>(k);
    sum += std::exp(std::lgamma(count + 1) - std::lgamma(picked + 1) - std::lgamma(count - picked + 1) -
                    count * std::log(2.0));
  }
  return 2 * sum;
}

TEST(MedianRanks, there_are_none_below_eight_samples) {
  for (std::size_t n = 0; n < 8; ++n) {
    EXPECT_FALSE(median_ranks(n).has_value()) << n;
  }
}

TEST(MedianRanks, are_those_of_the_formula) {
  expect_ranks(8, 1, 8);
  expect_ranks(9, 1, 9);
  expect_ranks(11, 2, 10);
  expect_ranks(16, 4, 13);
  expect_ranks(32, 10, 23);
  expect_ranks(100, 40, 61);
}

TEST(MedianRanks, lie_inside_and_hold_95_percent_at_every_n) {
  for (std::size_t n = 8; n <= 2048; ++n) {
    const auto ranks = median_ranks(n);
    ASSERT_TRUE(ranks.has_value());
    ASSERT_GE(ranks->low, 1U) << n;
    ASSERT_EQ(ranks->low + ranks->high, n + 1);
    // The normal approximation behind the formula is off by a few tenths of a percent at some n.
    EXPECT_LE(error_rate(n, ranks->low), 0.052) << n;
  }
}

TEST(MedianInterval, holds_the_values_at_its_ranks) {
  std::vector<double> sorted(16);
  std::iota(sorted.begin(), sorted.end(), 1.0);
  const auto interval = median_interval(sorted);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 4);
  EXPECT_EQ(interval->high, 13);
  EXPECT_FALSE(median_interval(std::span(sorted).first(7)).has_value());
}

TEST(MedianInterval, contains_the_median_of_its_own_samples) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> draw(0, 1);
  for (std::size_t n = 8; n < 300; ++n) {
    std::vector<double> samples(n);
    std::generate(samples.begin(), samples.end(), [&] { return draw(random); });
    const Summary summary = summarize(samples);
    ASSERT_TRUE(summary.ci95.has_value());
    EXPECT_LE(summary.ci95->low, summary.median);
    EXPECT_GE(summary.ci95->high, summary.median);
  }
}

TEST(RelativeHalfWidth, is_half_the_width_over_the_centre) {
  EXPECT_DOUBLE_EQ(relative_half_width({9, 11}, 10), 0.1);
  EXPECT_DOUBLE_EQ(relative_half_width({-11, -9}, -10), 0.1);
  EXPECT_TRUE(std::isinf(relative_half_width({0, 1}, 0)));
}

TEST(Quantile, interpolates_between_neighbours) {
  const std::vector<double> sorted{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 4);
}

TEST(Quantile, of_one_value_is_that_value) {
  const std::vector<double> one{7};
  EXPECT_EQ(quantile(one, 0), 7);
  EXPECT_EQ(quantile(one, 0.5), 7);
  EXPECT_EQ(quantile(one, 1), 7);
}

TEST(Summarize, takes_samples_in_any_order) {
  const std::vector<double> samples{9, 1, 2, 6, 2, 4, 1};
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.n, 7U);
  EXPECT_EQ(summary.median, 2);
  EXPECT_EQ(summary.mad, 1);  // distances 1 1 0 0 2 4 7
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 9);
  EXPECT_FALSE(summary.ci95.has_value());
}

TEST(Summarize, percentiles_are_of_the_sorted_samples) {
  std::vector<double> samples(21);
  std::iota(samples.begin(), samples.end(), 0.0);
  std::reverse(samples.begin(), samples.end());
  const Summary summary = summarize(samples);
  EXPECT_DOUBLE_EQ(summary.p5, 1);
  EXPECT_DOUBLE_EQ(summary.p95, 19);
}

TEST(Summarize, keeps_an_outlier_and_its_median_does_not_move) {
  std::vector<double> samples(31, 1.0);
  samples.push_back(1e6);
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.n, 32U);
  EXPECT_EQ(summary.median, 1);
  EXPECT_EQ(summary.mad, 0);
  EXPECT_EQ(summary.max, 1e6);
}

TEST(Summarize, a_large_offset_costs_no_digits) {
  // A quarter is exact beside 2^40, so the answers are too; E[x^2] - mean^2 would have none left.
  const double offset = 1099511627776.0;
  std::vector<double> samples(101);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = offset + 0.25 * static_cast<double>(i);
  }
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.median - offset, 12.5);
  EXPECT_EQ(summary.mad, 6.25);
  EXPECT_EQ(summary.p5 - offset, 1.25);
  ASSERT_TRUE(summary.ci95.has_value());
  EXPECT_EQ(summary.ci95->low - offset, 0.25 * 39);   // rank 40
  EXPECT_EQ(summary.ci95->high - offset, 0.25 * 61);  // rank 62
}

TEST(Summarize, refuses_an_empty_set) {
  EXPECT_THROW(static_cast<void>(summarize(std::vector<double>{})), std::invalid_argument);
}

TEST(Summarize, refuses_what_is_not_finite_wherever_it_stands) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinite, -infinite}) {
    for (std::size_t place = 0; place < 9; ++place) {
      std::vector<double> samples(9, 1.0);
      samples[place] = bad;
      EXPECT_THROW(static_cast<void>(summarize(samples)), std::invalid_argument) << bad << " at " << place;
    }
  }
}

}  // namespace
namespace {

using Draw = std::function<double(std::mt19937_64&)>;

std::vector<double> sorted_set(const Draw& draw, std::size_t n, std::mt19937_64& random) {
  std::vector<double> values(n);
  std::generate(values.begin(), values.end(), [&] { return draw(random); });
  std::sort(values.begin(), values.end());
  return values;
}

// Two normal modes at 1 and at 1 + `apart`, half a percent broad; `upper` of the n values in the upper one.
std::vector<double> two_modes(double apart, std::size_t upper, std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 0.005);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = (i < upper ? 1 + apart : 1) + noise(random);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double flagged_share(const Draw& draw, std::size_t n, int sets) {
  std::mt19937_64 random(2025 + n);
  int flagged = 0;
  for (int i = 0; i < sets; ++i) {
    flagged += is_bimodal(sorted_set(draw, n, random)) ? 1 : 0;
  }
  return static_cast<double>(flagged) / sets;
}

TEST(IsBimodal, finds_two_planted_modes) {
  std::mt19937_64 random(7);
  for (const double apart : {0.1, 0.2, 0.5, 1.0, 4.0}) {
    for (const double share : {0.15, 0.2, 0.35, 0.5, 0.65, 0.8, 0.85}) {
      for (const std::size_t n : {32U, 64U, 256U}) {
        const auto upper = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
        int found = 0;
        for (int set = 0; set < 200; ++set) {
          found += is_bimodal(two_modes(apart, upper, n, random)) ? 1 : 0;
        }
        EXPECT_GE(found, 198) << "apart " << apart << ", share " << share << ", n " << n;
      }
    }
  }
}

TEST(IsBimodal, a_tenth_of_the_values_is_a_mode_and_less_is_a_tail) {
  std::vector<double> values(90, 1.0);
  values.insert(values.end(), 10, 2.0);
  EXPECT_TRUE(is_bimodal(values));
  values[90] = 1.0;
  EXPECT_FALSE(is_bimodal(values));
}

TEST(IsBimodal, three_values_are_no_mode) {
  EXPECT_FALSE(is_bimodal(std::vector<double>{1, 1, 1, 1, 1, 2, 2, 2}));
  EXPECT_TRUE(is_bimodal(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_FALSE(is_bimodal(std::vector<double>{1, 1, 2, 2}));
}

TEST(IsBimodal, a_gap_below_a_twentieth_of_the_median_is_of_no_matter) {
  std::vector<double> values(16, 1.0);
  values.insert(values.end(), 16, 1.04);
  EXPECT_FALSE(is_bimodal(values));
  std::fill(values.begin() + 16, values.end(), 1.1);
  EXPECT_TRUE(is_bimodal(values));
}

TEST(IsBimodal, a_bridge_between_two_heaps_makes_them_one) {
  std::vector<double> heaps(20, 1.0);
  heaps.insert(heaps.end(), 20, 3.0);
  EXPECT_TRUE(is_bimodal(heaps));
  // Far apart against their spread still, but the widest gap no longer stands out.
  heaps.insert(heaps.begin() + 20, {1.2, 1.4, 1.6, 1.8, 2.05, 2.2, 2.4, 2.6, 2.8});
  EXPECT_FALSE(is_bimodal(heaps));
}

TEST(IsBimodal, equal_values_have_one_mode) {
  EXPECT_FALSE(is_bimodal(std::vector<double>(64, 3.0)));
}

TEST(IsBimodal, few_sets_of_one_mode_are_flagged) {
  const std::vector<std::pair<std::string, Draw>> one_mode{
      {"normal", [](auto& random) { return std::normal_distribution<double>(1, 0.1)(random); }},
      {"broad normal", [](auto& random) { return std::normal_distribution<double>(1, 0.3)(random); }},
      {"uniform", [](auto& random) { return std::uniform_real_distribution<double>(0.5, 1.5)(random); }},
      {"lognormal", [](auto& random) { return std::lognormal_distribution<double>(0, 0.5)(random); }},
      {"exponential", [](auto& random) { return 0.1 + std::exponential_distribution<double>(1)(random); }}};
  for (const auto& [name, draw] : one_mode) {
    for (const std::size_t n : {32U, 48U, 64U, 128U, 256U}) {
      EXPECT_LE(flagged_share(draw, n, 2000), 0.02) << name << ", n " << n;
    }
  }
}

}  // namespace
namespace {

constexpr double kKnown = std::numeric_limits<double>::infinity();

TEST(StudentQuantile, is_that_of_the_tables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.30265, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.77645, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.81246, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, 1000), 1.96234, 1e-4);
  EXPECT_NEAR(student_quantile(0.975, kKnown), 1.95996, 1e-4);
  EXPECT_NEAR(student_quantile(0.5, 3), 0, 1e-7);
  EXPECT_NEAR(student_quantile(0.975, 1e200), 1.95996, 1e-4);
  EXPECT_NEAR(student_quantile(0.025, 4), -2.77645, 1e-4);
}

TEST(Combined, of_a_known_part_keeps_the_freedom_of_the_other) {
  const Uncertainty both = combined({0.03, 2}, {0.04, kKnown});
  EXPECT_DOUBLE_EQ(both.standard, 0.05);
  // Welch and Satterthwaite: 0.05⁴ / (0.03⁴ / 2).
  EXPECT_NEAR(both.freedom, std::pow(0.05, 4) / (std::pow(0.03, 4) / 2), 1e-9);
}

TEST(Combined, with_nothing_is_itself) {
  const Uncertainty one = combined({0.02, 7}, {0, kKnown});
  EXPECT_DOUBLE_EQ(one.standard, 0.02);
  EXPECT_NEAR(one.freedom, 7, 1e-9);
}

TEST(Combined, of_two_known_parts_is_known) {
  EXPECT_TRUE(std::isinf(combined({0.01, kKnown}, {0.01, kKnown}).freedom));
}

TEST(IntervalAround, is_relative_and_holds_the_value) {
  const Interval interval = interval_around(100, {0.05, kKnown});
  EXPECT_NEAR(interval.high, 100 * std::exp(0.05 * 1.95996), 1e-3);
  EXPECT_NEAR(interval.low * interval.high, 1e4, 1e-6);
}

TEST(FitPrior, of_few_variances_knows_nothing) {
  EXPECT_EQ(fit_prior(std::vector<double>(7, 1.0), 2).freedom, 0);
}

// Variances drawn as scale × chi²(2) / 2 differ by chance alone: the prior holds all that is known.
TEST(FitPrior, of_equal_spreads_is_worth_much_and_has_their_scale) {
  std::mt19937_64 random(1);
  std::chi_squared_distribution<double> chi(2);
  std::vector<double> variances(400);
  for (double& variance : variances) {
    variance = 1e-4 * chi(random) / 2;
  }
  const VariancePrior prior = fit_prior(variances, 2);
  EXPECT_NEAR(std::sqrt(prior.variance), 0.01, 0.001);
  EXPECT_GT(prior.freedom, 20);
}

// Scales that themselves are drawn, with 4 degrees of freedom.
TEST(FitPrior, of_spreads_that_differ_finds_how_much_they_do) {
  std::mt19937_64 random(2);
  std::chi_squared_distribution<double> of_scales(4);
  std::chi_squared_distribution<double> chi(2);
  std::vector<double> variances(2000);
  for (double& variance : variances) {
    variance = 1e-4 * 4 / of_scales(random) * chi(random) / 2;
  }
  const VariancePrior prior = fit_prior(variances, 2);
  EXPECT_NEAR(prior.freedom, 4, 1);
  EXPECT_NEAR(std::sqrt(prior.variance), 0.01, 0.001);
}

std::vector<VisitMedians> drawn(std::size_t cases, int visits, double spread, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, spread);
  std::vector<VisitMedians> all;
  for (std::size_t i = 0; i < cases; ++i) {
    VisitMedians each{"fake", "gated", {}};
    for (int visit = 0; visit < visits; ++visit) {
      each.medians_s.push_back(1e-3 * std::exp(normal(random)));
    }
    all.push_back(std::move(each));
  }
  return all;
}

TEST(TypeA, covers_the_value_as_often_as_it_says) {
  std::mt19937_64 random(3);
  int inside = 0;
  int all = 0;
  double width = 0;
  for (int run = 0; run < 40; ++run) {
    const auto cases = drawn(40, 3, 0.02, random);
    const auto uncertainties = type_a(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ASSERT_TRUE(uncertainties[i].uncertainty);
      const std::vector<double>& medians_s = cases[i].medians_s;
      const double error = std::log(medians_s[middle_visit(medians_s)] / 1e-3);
      inside += std::abs(error) <= expanded(*uncertainties[i].uncertainty) ? 1 : 0;
      width += expanded(*uncertainties[i].uncertainty);
      ++all;
    }
  }
  EXPECT_NEAR(static_cast<double>(inside) / all, 0.95, 0.015);
  // Three visits alone would need 4.3 standard errors; pooled it is little more than two.
  EXPECT_LT(width / all, 2.3 * 0.02 * 0.68);
}

TEST(TypeA, of_a_family_of_few_cases_takes_what_is_known_of_its_clock) {
  std::mt19937_64 random(4);
  auto cases = drawn(20, 3, 0.02, random);
  cases.push_back({"other", "gated", {1e-3, 1.0001e-3, 0.9999e-3}});
  cases.push_back({"lonely", "host", {1e-3, 1.001e-3, 0.999e-3}});
  const auto uncertainties = type_a(cases);
  EXPECT_GT(uncertainties[20].uncertainty->standard, 0.003);  // three that agree by luck
  EXPECT_EQ(uncertainties[21].uncertainty->freedom, 2);
  EXPECT_NEAR(uncertainties[21].uncertainty->standard, 0.001 * std::sqrt(0.44), 1e-5);
}

TEST(TypeA, of_one_visit_is_there_only_where_others_tell) {
  std::mt19937_64 random(5);
  auto cases = drawn(20, 3, 0.02, random);
  cases.push_back({"fake", "gated", {1e-3}});
  cases.push_back({"fake", "host", {1e-3}});
  const auto uncertainties = type_a(cases);
  ASSERT_TRUE(uncertainties[20].uncertainty);
  EXPECT_NEAR(uncertainties[20].uncertainty->standard, 0.02, 0.005);
  EXPECT_FALSE(uncertainties[21].uncertainty);
  EXPECT_TRUE(type_a({}).empty());
}

TEST(TypeA, of_few_cases_takes_what_is_known_of_their_family_from_other_runs) {
  const VariancePrior known{0.0004, 50};
  const auto one = type_a({{"fake", "host", {1e-3}, known}});
  EXPECT_NEAR(one[0].uncertainty->standard, 0.02, 1e-12);
  EXPECT_EQ(one[0].uncertainty->freedom, 50);
  const auto differing =
      type_a({{"fake", "host", {1e-3, 2e-3, 1.5e-3}, known}, {"fake", "host", {1e-3, 1.01e-3, 1e-3}, known}});
  EXPECT_TRUE(differing[0].visits_differ);
  EXPECT_FALSE(differing[1].visits_differ);
  EXPECT_EQ(differing[0].uncertainty->freedom, 52);
}

// Of cases of which every other one is known to vary ten times as much: pooled without that, the quiet ones
// would have intervals that are too wide and the others some that are too narrow.
TEST(TypeA, of_cases_that_vary_unlike_is_to_each_by_its_share) {
  std::mt19937_64 random(8);
  std::map<double, std::pair<double, double>> seen;  // by share: how many are inside, mean half-width
  constexpr std::size_t kCases = 2000;
  std::vector<VisitMedians> cases = drawn(kCases, 3, 0.002, random);
  std::vector<VisitMedians> loud = drawn(kCases, 3, 0.02, random);
  for (VisitMedians& each : loud) {
    each.share = 100;
    cases.push_back(std::move(each));
  }
  const auto found = type_a(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double half = expanded(*found[i].uncertainty);
    const double error = std::log(cases[i].medians_s[middle_visit(cases[i].medians_s)] / 1e-3);
    auto& [inside, width] = seen[cases[i].share];
    inside += std::abs(error) <= half ? 1.0 / kCases : 0;
    width += half / kCases;
  }
  for (const double share : {1.0, 100.0}) {
    EXPECT_NEAR(seen[share].first, 0.95, 0.015);
    EXPECT_NEAR(seen[share].second, 0.002 * std::sqrt(share) * 1.96 * 0.67, 0.0003 * std::sqrt(share));
  }
  const VariancePrior known{0.0004, 50};
  const auto one = type_a({{"fake", "host", {1e-3}, known, 0.25}});
  EXPECT_NEAR(one[0].uncertainty->standard, 0.01, 1e-12);
}

TEST(MiddleVisit, is_the_lower_of_two_in_the_middle_and_the_first_of_equals) {
  EXPECT_EQ(middle_visit(std::vector<double>{7}), 0U);
  EXPECT_EQ(middle_visit(std::vector<double>{3, 1, 2}), 2U);
  EXPECT_EQ(middle_visit(std::vector<double>{4, 1, 3, 2}), 3U);
  EXPECT_EQ(middle_visit(std::vector<double>{2, 2, 2}), 1U);
  EXPECT_EQ(middle_visit(std::vector<double>{2, 1, 2, 2, 3}), 2U);
}

// What the interval of a middle value rests on: its variance, of normal values, as a share of one value's.
TEST(TypeA, of_the_middle_has_the_variance_that_it_says) {
  std::mt19937_64 random(6);
  for (const int visits : {2, 3, 4, 5, 8}) {
    double squares = 0;
    const auto cases = drawn(20000, visits, 0.02, random);
    for (const VisitMedians& each : cases) {
      const double error = std::log(each.medians_s[middle_visit(each.medians_s)] / 1e-3);
      squares += error * error;
    }
    const double standard = type_a(cases)[0].uncertainty->standard;
    EXPECT_NEAR(std::sqrt(squares / 20000) / standard, 1, 0.03) << visits;
  }
}

TEST(TypeA, of_visits_that_are_equal_is_small_and_finite) {
  std::vector<VisitMedians> cases(10, {"fake", "gated", {1e-3, 1e-3, 1e-3}});
  for (const auto& [uncertainty, visits_differ] : type_a(cases)) {
    ASSERT_TRUE(uncertainty);
    EXPECT_LT(uncertainty->standard, 1e-5);
    EXPECT_TRUE(std::isfinite(expanded(*uncertainty)));
  }
}

}  // namespace
}  // namespace grainscope
