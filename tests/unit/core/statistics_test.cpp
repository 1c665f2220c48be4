#include "grainscope/core/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

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
}  // namespace grainscope
