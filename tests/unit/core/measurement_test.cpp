#include "grainscope/core/operation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace grainscope {
namespace {

// A megabyte in 100 us: 10 GB/s, below a limit of 20.
Measurement honest_copy() {
  Measurement measurement;
  measurement.samples.seconds = std::vector<double>(16, 100e-6);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.bytes = 1'000'000;
  measurement.limit = PhysicalLimit{20, "a link of glass"};
  measurement.verification = "every word compared";
  return measurement;
}

TEST(WhyImpossible, an_honest_measurement_passes) {
  EXPECT_EQ(why_impossible(honest_copy()), "");
}

TEST(WhyImpossible, faster_than_its_path_fails_and_names_both_rates_and_the_path) {
  Measurement measurement = honest_copy();
  measurement.bytes = 10'000'000;
  const std::string why = why_impossible(measurement);
  EXPECT_EQ(why.substr(0, 11), "impossible:");
  EXPECT_NE(why.find("99.5 GB/s"), std::string::npos) << why;
  EXPECT_NE(why.find("20.0 GB/s of a link of glass"), std::string::npos) << why;
}

TEST(WhyImpossible, a_clock_tick_above_the_limit_is_forgiven) {
  Measurement measurement = honest_copy();
  measurement.bytes = 2'000'000;  // exactly the limit
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.bytes = 2'020'000;  // one percent above it
  EXPECT_NE(why_impossible(measurement), "");
}

TEST(WhyImpossible, what_crossed_the_link_counts_and_not_what_was_asked_for) {
  Measurement measurement = honest_copy();
  measurement.link_bytes_least = 8'000'000;
  EXPECT_NE(why_impossible(measurement), "");
  measurement.bytes = 10'000'000;
  measurement.link_bytes_least = 1'000'000;
  EXPECT_EQ(why_impossible(measurement), "");
}

TEST(WhyImpossible, the_fastest_tenth_counts_and_not_the_median_alone) {
  Measurement measurement = honest_copy();
  std::fill(measurement.samples.seconds.begin(), measurement.samples.seconds.begin() + 4, 10e-6);
  EXPECT_NE(why_impossible(measurement), "");
}

TEST(WhyImpossible, one_short_sample_of_many_is_not_enough) {
  Measurement measurement = honest_copy();
  measurement.samples.seconds.front() = 10e-6;
  EXPECT_EQ(why_impossible(measurement), "");
}

TEST(WhyImpossible, without_a_limit_no_rate_is_too_high) {
  Measurement measurement = honest_copy();
  measurement.bytes = 1'000'000'000'000;
  measurement.limit.reset();
  EXPECT_EQ(why_impossible(measurement), "");
}

TEST(WhyImpossible, an_operation_below_its_minimum_fails) {
  Measurement measurement = honest_copy();
  measurement.operations = 1000;  // 100 ns each
  measurement.minimum_operation_s = 50e-9;
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.operations = 10'000;  // 10 ns each
  const std::string why = why_impossible(measurement);
  EXPECT_NE(why.find("impossible: 10.1 ns for one operation"), std::string::npos) << why;
  EXPECT_NE(why.find("50.0 ns"), std::string::npos) << why;
}

TEST(WhyImpossible, what_nobody_checked_is_refused) {
  Measurement measurement = honest_copy();
  measurement.verification.clear();
  EXPECT_NE(why_impossible(measurement).find("not verified"), std::string::npos);
}

TEST(WhyImpossible, no_samples_is_refused) {
  Measurement measurement = honest_copy();
  measurement.samples = {};
  EXPECT_NE(why_impossible(measurement), "");
}

}  // namespace
}  // namespace grainscope
