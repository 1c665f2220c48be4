#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/statistics.hpp"

namespace grainscope {
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
}  // namespace grainscope
