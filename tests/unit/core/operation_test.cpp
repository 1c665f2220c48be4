#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "grainscope/core/case.hpp"
#include "grainscope/core/operation.hpp"

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

// Samples of 100 us.
TEST(WhyImpossible, a_time_that_another_clock_contradicts_fails) {
  Measurement measurement = honest_copy();
  for (const double around_s : {99e-6, 100e-6, 130e-6, 190e-6}) {
    measurement.around_s = around_s;
    EXPECT_EQ(why_impossible(measurement), "") << around_s;
  }
  for (const double around_s : {200e-6, 50e-6}) {  // samples of half the time, and of twice the time
    measurement.around_s = around_s;
    const std::string why = why_impossible(measurement);
    EXPECT_TRUE(why.starts_with("impossible: samples of 100 us, around each of which ")) << why;
  }
}

TEST(WhyImpossible, what_is_submitted_and_waited_for_beside_a_short_sample_is_forgiven) {
  Measurement measurement = honest_copy();
  measurement.limit.reset();
  measurement.samples.seconds = std::vector<double>(16, 2e-6);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.around_s = 25e-6;
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
  measurement.limit = PhysicalLimit{0, "a load of glass", 50e-9};
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.operations = 10'000;  // 10 ns each
  const std::string why = why_impossible(measurement);
  EXPECT_NE(why.find("impossible: 10.1 ns for one operation"), std::string::npos) << why;
  EXPECT_NE(why.find("50.0 ns of a load of glass"), std::string::npos) << why;
}

TEST(WhyImpossible, a_sample_that_is_one_operation_is_held_to_its_shortest_time) {
  Measurement measurement = honest_copy();  // 100 us a sample
  measurement.limit = PhysicalLimit{0, "a graph read once", 90e-6};
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.limit->operation_s = 110e-6;
  EXPECT_NE(why_impossible(measurement).find("a graph read once"), std::string::npos);
}

TEST(WhyImpossible, where_nothing_crosses_a_link_what_was_asked_for_counts) {
  Measurement measurement = honest_copy();
  measurement.link_bytes_least = 0;
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.bytes = 10'000'000;
  EXPECT_NE(why_impossible(measurement), "");
}

TEST(WhyImpossible, a_trial_that_crosses_no_link_is_held_to_what_it_reads) {
  Measurement measurement = honest_copy();
  measurement.trials = {{"source:1", {100e-6}, {}, 0, 1'000'000}};
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.trials.front().bytes = 10'000'000;
  EXPECT_NE(why_impossible(measurement).find("source:1"), std::string::npos);
}

TEST(WhyImpossible, of_steps_of_one_run_the_mean_counts_since_a_late_one_shortens_the_next) {
  Measurement measurement = honest_copy();
  measurement.in_turn = true;
  for (std::size_t i = 0; i < 8; ++i) {
    measurement.samples.seconds[i] = 10e-6;
    measurement.samples.seconds[8 + i] = 190e-6;
  }
  EXPECT_EQ(why_impossible(measurement), "");
  measurement.in_turn = false;
  EXPECT_NE(why_impossible(measurement), "");
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
namespace {

Case copy_case() {
  return {"transfer/memcpy",
          {{"path", "pinned_to_gpu", AxisStyle::bare},
           {"flush", "on"},
           {"locality", "local", AxisStyle::hidden},
           {"bytes", std::int64_t{4096}}},
          {{"numa", 1}, {"gpu", 0}}};
}

TEST(CaseName, is_family_then_bare_axes_then_site_then_keyed_axes) {
  EXPECT_EQ(copy_case().name(), "transfer/memcpy/pinned_to_gpu/numa:1/gpu:0/flush:on/bytes:4096");
}

TEST(CaseName, site_and_axes_keep_their_order) {
  Case other = copy_case();
  std::swap(other.site[0], other.site[1]);
  std::swap(other.axes[1], other.axes[3]);
  EXPECT_EQ(other.name(), "transfer/memcpy/pinned_to_gpu/gpu:0/numa:1/bytes:4096/flush:on");
}

TEST(CaseName, hidden_axes_do_not_show) {
  Case other = copy_case();
  other.axes[2].value = "remote";
  EXPECT_EQ(other.name(), copy_case().name());
}

TEST(CaseName, without_axes_and_site_is_the_family) {
  EXPECT_EQ((Case{"host/empty", {}, {}}).name(), "host/empty");
}

TEST(CaseAxis, finds_every_axis_whether_it_shows_or_not) {
  const Case id = copy_case();
  EXPECT_EQ(std::get<std::string>(id.axis("path")), "pinned_to_gpu");
  EXPECT_EQ(std::get<std::string>(id.axis("locality")), "local");
  EXPECT_EQ(std::get<std::int64_t>(id.axis("bytes")), 4096);
}

TEST(CaseAxis, a_missing_one_is_named) {
  try {
    static_cast<void>(copy_case().axis("threads"));
    FAIL() << "an axis that is not there was found";
  } catch (const std::out_of_range& error) {
    EXPECT_NE(std::string(error.what()).find("'threads'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(copy_case().name()), std::string::npos) << error.what();
  }
}

TEST(CaseAxis, a_site_is_not_an_axis) {
  EXPECT_THROW(static_cast<void>(copy_case().axis("gpu")), std::out_of_range);
}

TEST(AxisValueText, numbers_and_words_show_as_they_are) {
  EXPECT_EQ(to_string(AxisValue(std::int64_t{-3})), "-3");
  EXPECT_EQ(to_string(AxisValue("4KiB")), "4KiB");
}

}  // namespace
}  // namespace grainscope
