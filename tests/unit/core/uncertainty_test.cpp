#include "grainscope/core/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace grainscope {
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
