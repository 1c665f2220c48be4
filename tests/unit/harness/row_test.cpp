#include "harness/row.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

Case some_case() {
  return {"transfer/memcpy",
          {{"path", "pinned_to_gpu", AxisStyle::bare},
           {"locality", "local", AxisStyle::hidden},
           {"bytes", std::int64_t{4096}}},
          {{"numa", 0}, {"gpu", 1}}};
}

Measurement some_measurement() {
  Measurement measurement;
  measurement.samples.seconds = {2e-6, 1e-6, 3e-6, 2e-6, 2e-6, 1e-6, 3e-6, 2e-6};
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.samples.reached_target = true;
  measurement.timing = {Clock::event, true, "the copy"};
  measurement.bytes = 4096;
  measurement.verification = "every word compared";
  return measurement;
}

// Of a case that went well.
json row_of(const Measurement& measurement) {
  json row = outcome_row(some_case(), Status::ok, "");
  add_measurement(row, measurement);
  return row;
}

TEST(Row, of_a_good_case_has_all_that_the_schema_asks_for) {
  const json row = row_of(some_measurement());
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["status"], "ok");
  EXPECT_FALSE(row.contains("reason"));
  EXPECT_FALSE(row.contains("error_occurred"));
  EXPECT_EQ(row["name"], some_case().name());
  EXPECT_EQ(row["case"]["axes"], (json{{"path", "pinned_to_gpu"}, {"locality", "local"}, {"bytes", 4096}}));
  EXPECT_EQ(row["case"]["site"], (json{{"numa", 0}, {"gpu", 1}}));
  EXPECT_EQ(row["samples_s"], json(some_measurement().samples.seconds));
  EXPECT_EQ(row["median_s"], 2e-6);
  EXPECT_EQ(row["ci95_s"], (json{1e-6, 3e-6}));
  EXPECT_DOUBLE_EQ(row["bandwidth_gb_s"], 4096 / 2e-6 / 1e9);
  EXPECT_EQ(row["timing"], (json{{"clock", "event"}, {"gated", true}, {"timed", "the copy"}}));
  EXPECT_EQ(row["verified"], true);
  EXPECT_TRUE(row["flags"].empty());
}

TEST(Row, of_a_case_left_out_says_why_and_has_no_times) {
  for (const Status status : {Status::skipped, Status::failed}) {
    json row = outcome_row(some_case(), status, "there is no such thing");
    add_measurement(row, {});
    EXPECT_EQ(test::row_errors(row), "");
    EXPECT_EQ(row["status"], name(status));
    EXPECT_EQ(row["reason"], "there is no such thing");
    EXPECT_EQ(row["error_occurred"], true);
    EXPECT_FALSE(row.contains("median_s"));
    EXPECT_FALSE(row.contains("samples_s"));
  }
}

TEST(Row, that_failed_keeps_what_was_measured) {
  json row = outcome_row(some_case(), Status::failed, "impossible");
  add_measurement(row, some_measurement());
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["samples_s"].size(), 8U);
}

TEST(Row, that_nobody_checked_is_not_verified) {
  Measurement measurement = some_measurement();
  measurement.verification.clear();
  const json row = row_of(measurement);
  EXPECT_EQ(row["verified"], false);
  EXPECT_FALSE(row.contains("verification"));
  EXPECT_NE(test::row_errors(row), "");
}

Measurement beside_another(double alone_s, bool background) {
  Measurement measurement = some_measurement();
  const auto& seconds = measurement.samples.seconds;
  measurement.lanes = {{"to_gpu", "host:0", "gpu:0", 2048, seconds, false, 1.5e-6},
                       {"to_host", "gpu:0", "host:0", 2048, seconds, background, alone_s}};
  measurement.bytes = 4096;
  return measurement;
}

// The lanes' intervals end at 3 us.
TEST(Row, flags_a_lane_that_took_longer_alone) {
  const json row = row_of(beside_another(3.2e-6, false));
  EXPECT_EQ(row["flags"], (json{"slower_alone"}));
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_TRUE(row_of(beside_another(3.1e-6, false))["flags"].empty());
  // How long it was issued for depends on what it stands behind.
  EXPECT_TRUE(row_of(beside_another(9e-6, true))["flags"].empty());
}

TEST(Row, flags_a_wide_interval_and_two_modes) {
  Measurement measurement = some_measurement();
  measurement.samples.reached_target = false;
  measurement.samples.summary.bimodal = true;
  const json row = row_of(measurement);
  EXPECT_EQ(row["flags"], (json{"wide_interval", "bimodal"}));
}

TEST(Row, has_a_time_for_one_operation_and_no_rate_where_nothing_moves) {
  Measurement measurement = some_measurement();
  measurement.bytes = 0;
  measurement.operations = 4;
  const json row = row_of(measurement);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_DOUBLE_EQ(row["operation_s"], 0.5e-6);
  EXPECT_FALSE(row.contains("bandwidth_gb_s"));
  EXPECT_FALSE(row.contains("bytes"));
}

TEST(Row, keeps_all_that_is_optional_as_the_schema_describes_it) {
  Measurement measurement = some_measurement();
  measurement.link_bytes_least = 8192;
  measurement.operations = 32;
  measurement.limit = PhysicalLimit{63, "PCIe 5.0 x16"};
  measurement.traffic = Traffic{true, 33, {{32, 1}, {128, 32}}, 4128, 1.0078125};
  measurement.energy_j = 0.25;
  measurement.link_peak_gb_s = 50;
  measurement.counters["ratio"] = 9.5;
  measurement.samples.dropped = {3e-6, 5e-6, 4e-6, 5e-6, 5e-6, 5e-6, 5e-6, 5e-6};
  const json row = row_of(measurement);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["link_bytes_least"], 8192);
  EXPECT_EQ(row["limit"], "PCIe 5.0 x16");
  EXPECT_EQ(row["traffic"]["label"], "counted");
  EXPECT_EQ(row["traffic"]["requests_by_size"], (json{{"32", 1}, {"128", 32}}));
  EXPECT_EQ(row["energy_j"], 0.25);
  EXPECT_DOUBLE_EQ(row["link_fraction"], 4096 / 2e-6 / 1e9 / 50);
  EXPECT_EQ(row["counters"]["ratio"], 9.5);
  EXPECT_EQ(row["dropped_samples"], 8);
  EXPECT_EQ(row["dropped_median_s"], 5e-6);
}

TEST(Row, of_nothing_that_was_asked_for_nothing_is_amplified) {
  Measurement measurement = some_measurement();
  measurement.traffic = Traffic{false, 0, {{32, 0}}, 0, 0};
  const json row = row_of(measurement);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_FALSE(row["traffic"].contains("amplification"));
}

TEST(Row, a_link_that_nothing_crossed_has_no_fraction) {
  Measurement measurement = some_measurement();
  measurement.link_peak_gb_s = 50;
  measurement.link_bytes_least = 0;
  measurement.counters["link_gb_s"] = 0;
  const json row = row_of(measurement);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_FALSE(row.contains("link_fraction"));
  EXPECT_EQ(row["link_bytes_least"], 0);
}

}  // namespace
}  // namespace grainscope::harness
