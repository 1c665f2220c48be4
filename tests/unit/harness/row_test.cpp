// Rows as they are written, and the physical limits that they are held to.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/host_memory.hpp"
#include "harness/machine.hpp"
#include "harness/row.hpp"
#include "harness/selection.hpp"
#include "host/case.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

Benchmark some_case() {
  Benchmark benchmark;
  benchmark.id = {"transfer/memcpy",
                  {{"path", "pinned_to_gpu", AxisStyle::bare},
                   {"locality", "local", AxisStyle::hidden},
                   {"bytes", std::int64_t{4096}}},
                  {{"numa", 0}, {"gpu", 1}}};
  benchmark.version = 3;
  return benchmark;
}

Measurement some_measurement() {
  Measurement measurement;
  measurement.samples.seconds = {2e-6, 1e-6, 3e-6, 2e-6, 2e-6, 1e-6, 3e-6, 2e-6};
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.timing = {Clock::event, true, "the copy"};
  measurement.bytes = 4096;
  measurement.verification = "every word compared";
  return measurement;
}

json visit_of(const Measurement& measurement, int round, Status status = Status::ok,
              const std::string& reason = "") {
  json row = outcome_row(some_case(), status, reason);
  add_measurement(row, measurement);
  row["round"] = round;
  row["visit_s"] = 0.25;
  return row;
}

// Of a case that went well, in one visit.
json row_of(const Measurement& measurement) {
  return merged_row({visit_of(measurement, 1)}, 1);
}

// The visits of a case whose samples are the first's times these.
std::vector<json> visits_of(const std::vector<double>& times) {
  std::vector<json> visits;
  for (const double factor : times) {
    Measurement measurement = some_measurement();
    for (double& seconds : measurement.samples.seconds) {
      seconds *= factor;
    }
    measurement.samples.summary = summarize(measurement.samples.seconds);
    visits.push_back(visit_of(measurement, static_cast<int>(visits.size()) + 1));
  }
  return visits;
}

TEST(Row, of_a_good_case_has_all_that_the_schema_asks_for) {
  const json row = row_of(some_measurement());
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["status"], "ok");
  EXPECT_FALSE(row.contains("reason"));
  EXPECT_FALSE(row.contains("error_occurred"));
  EXPECT_EQ(row["name"], some_case().id.name());
  EXPECT_EQ(row["case"]["version"], 3);
  EXPECT_EQ(row["case"]["axes"], (json{{"path", "pinned_to_gpu"}, {"locality", "local"}, {"bytes", 4096}}));
  EXPECT_EQ(row["case"]["site"], (json{{"numa", 0}, {"gpu", 1}}));
  const json visit = {{"round", 1},
                      {"samples_s", some_measurement().samples.seconds},
                      {"median_s", 2e-6},
                      {"within_s", {1e-6, 3e-6}},
                      {"visit_s", 0.25}};
  EXPECT_EQ(row["visits"], (json::array({visit})));
  EXPECT_EQ(row["middle"], 0);
  EXPECT_EQ(row["median_s"], 2e-6);
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
    EXPECT_FALSE(row.contains("visits"));
  }
}

TEST(Row, that_failed_keeps_what_was_measured) {
  const json row = merged_row({visit_of(some_measurement(), 1, Status::failed, "impossible")}, 1);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["reason"], "impossible");
  EXPECT_EQ(row["visits"][0]["samples_s"].size(), 8U);
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

TEST(Row, flags_two_modes) {
  Measurement measurement = some_measurement();
  measurement.samples.summary.bimodal = true;
  EXPECT_EQ(row_of(measurement)["flags"], (json{"bimodal"}));
}

TEST(Row, of_trials_has_no_interval_within_a_visit) {
  Measurement measurement = some_measurement();
  measurement.trials = {{"source:1", {1e-6}, {}, 0}};
  EXPECT_FALSE(row_of(measurement)["visits"][0].contains("within_s"));
}

// One that was slow at first moves the median of all by more than the interval of those that are left.
TEST(Row, keeps_what_was_set_aside_and_flags_it_where_it_would_have_moved_the_median) {
  Measurement measurement = some_measurement();
  measurement.samples.unsettled = {2e-6, 1e-6};
  EXPECT_TRUE(row_of(measurement)["flags"].empty());
  measurement.samples.unsettled = std::vector<double>(16, 5e-6);
  const json row = row_of(measurement);
  EXPECT_EQ(row["flags"], (json{"unsettled"}));
  EXPECT_EQ(row["visits"][0]["unsettled_s"].size(), 16U);
  EXPECT_EQ(row["median_s"], 2e-6);
  // Of whichever visit: its median is one of those that the row's uncertainty is made of.
  EXPECT_EQ(merged_row({visit_of(some_measurement(), 1), visit_of(measurement, 2)}, 2)["flags"],
            (json{"unsettled"}));
}

TEST(MergedRow, is_of_the_visit_with_the_middle_median) {
  const json row = merged_row(visits_of({3, 1, 2}), 3);
  EXPECT_EQ(row["middle"], 2);
  EXPECT_EQ(row["median_s"], 4e-6);
  EXPECT_DOUBLE_EQ(row["bandwidth_gb_s"], 4096 / 4e-6 / 1e9);
  ASSERT_EQ(row["visits"].size(), 3U);
  EXPECT_EQ(row["visits"][0]["round"], 1);
  EXPECT_EQ(row["visits"][0]["median_s"], 6e-6);
  EXPECT_FALSE(row.contains("samples_s"));
  // Of an even number the lower of the two in the middle.
  EXPECT_EQ(merged_row(visits_of({3, 1, 2, 4}), 4)["median_s"], 4e-6);
  EXPECT_EQ(test::row_errors(row), "");
}

// A visit of the first, second, … round on the host's clock, which takes 10, 20, … µs.
Measurement visit_on_host(int round) {
  Measurement measurement = some_measurement();
  measurement.samples.seconds.assign(8, round * 1e-5);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.timing = {Clock::steady, false, "the copy"};
  return measurement;
}

// Each with so many samples of 8 that found no quiet CPU.
std::vector<json> visits_beside_neighbours(const std::vector<std::uint64_t>& disturbed) {
  std::vector<json> visits;
  for (const std::uint64_t count : disturbed) {
    const auto round = static_cast<int>(visits.size()) + 1;
    Measurement measurement = visit_on_host(round);
    measurement.disturbed = count;
    visits.push_back(visit_of(measurement, round));
  }
  return visits;
}

TEST(MergedRow, is_of_the_visits_on_quiet_cpus_where_there_is_one) {
  const json row = merged_row(visits_beside_neighbours({4, 8, 5, 0}), 4);
  EXPECT_EQ(row["middle"], 0);
  EXPECT_EQ(row["timing"]["quiet"], true);
  ASSERT_EQ(row["visits"].size(), 4U);
  EXPECT_FALSE(row["visits"][0].contains("busy"));
  EXPECT_EQ(row["visits"][1]["busy"], true);
  EXPECT_EQ(row["visits"][2]["busy"], true);
  EXPECT_EQ(test::row_errors(row), "");
  // Their spread alone says what the row is worth.
  std::vector<json> both{row, merged_row(visits_beside_neighbours({0, 8, 8, 0}), 4)};
  both[1]["visits"][1]["median_s"] = 1.0;
  add_uncertainties(both, TypeB());
  EXPECT_EQ(both[0]["uncertainty"], both[1]["uncertainty"]);
}

TEST(MergedRow, beside_neighbours_all_the_time_is_of_no_quiet_cpu) {
  const json row = merged_row(visits_beside_neighbours({8, 5, 7}), 3);
  EXPECT_EQ(row["middle"], 1);
  EXPECT_EQ(row["timing"]["quiet"], false);
  EXPECT_EQ(test::row_errors(row), "");
}

// Of what several threads do, with what a cache line took between their CPUs in each visit; 0: nobody says.
std::vector<json> visits_between_cpus(const std::vector<double>& line_ns) {
  std::vector<json> visits;
  for (const double nanoseconds : line_ns) {
    const auto round = static_cast<int>(visits.size()) + 1;
    visits.push_back(visit_of(visit_on_host(round), round));
    if (nanoseconds > 0) {
      visits.back()["state"]["cache_line_ns"] = nanoseconds;
    }
  }
  return visits;
}

TEST(MergedRow, is_of_the_visits_whose_cpus_lay_near_each_other) {
  const json row = merged_row(visits_between_cpus({200, 40, 210, 70}), 4);
  EXPECT_EQ(row["middle"], 1);  // of the second and the fourth, not the third
  ASSERT_EQ(row["visits"].size(), 4U);
  EXPECT_EQ(row["visits"][0]["far"], true);
  EXPECT_FALSE(row["visits"][1].contains("far"));
  EXPECT_EQ(row["visits"][2]["far"], true);
  EXPECT_FALSE(row["visits"][3].contains("far"));
  EXPECT_EQ(test::row_errors(row), "");
  std::vector<json> both{row, merged_row(visits_between_cpus({200, 40, 210, 70}), 4)};
  both[1]["visits"][2]["median_s"] = 1.0;
  add_uncertainties(both, TypeB());
  EXPECT_EQ(both[0]["uncertainty"], both[1]["uncertainty"]);
}

TEST(MergedRow, takes_cpus_that_always_lay_alike_or_of_which_nothing_is_known_as_near) {
  for (const std::vector<double>& line_ns :
       {std::vector<double>{200, 210, 190}, {0, 0, 0}, {200, 0, 200}, {45, 10, 60}}) {
    const json row = merged_row(visits_between_cpus(line_ns), 3);
    EXPECT_EQ(row["middle"], 1);
    for (const json& visit : row["visits"]) {
      EXPECT_FALSE(visit.contains("far"));
    }
  }
}

TEST(MergedRow, is_failed_where_a_visit_is) {
  auto visits = visits_of({1, 2, 3});
  visits[1] = visit_of({}, 2, Status::failed, "wrong result");
  const json row = merged_row(visits, 3);
  EXPECT_EQ(row["status"], "failed");
  EXPECT_EQ(row["reason"], "in visit 2 of 3: wrong result");
  EXPECT_EQ(row["error_message"], "failed: in visit 2 of 3: wrong result");
  EXPECT_FALSE(row.contains("median_s"));
  EXPECT_EQ(test::row_errors(row), "");
}

TEST(MergedRow, is_of_the_visits_that_are_ok_where_the_machine_refused_a_later_one) {
  auto visits = visits_of({1, 2});
  visits.push_back(visit_of({}, 3, Status::skipped, "no room"));
  const json row = merged_row(visits, 3);
  EXPECT_EQ(row["status"], "ok");
  EXPECT_EQ(row["visits"].size(), 2U);
  EXPECT_EQ(merged_row({visits[2]}, 3)["status"], "skipped");
}

constexpr const char* kTable = R"({"date": "2026-01-02", "machines": [{"cpu": "C", "gpu": "G"}], "families": [
  {"family": "transfer/memcpy", "version": 3, "clock": "gated", "visit": {"standard": 0.02, "freedom": 40, "middle": 0.004},
   "run": {"standard": 0.03}}]})";

TEST(Uncertainties, of_one_visit_come_from_the_table) {
  std::vector<json> rows{row_of(some_measurement())};
  add_uncertainties(rows, TypeB(kTable, "C", "G"));
  const json& told = rows[0]["uncertainty"];
  EXPECT_EQ(told["a"], (json{{"standard", 0.02}, {"freedom", 40.0}}));
  EXPECT_EQ(told["b"], (json{{"standard", 0.03}}));
  EXPECT_NEAR(told["combined"]["standard"], std::sqrt(0.0013), 1e-12);
  EXPECT_NEAR(told["combined"]["freedom"], 40 * 0.0013 * 0.0013 / std::pow(0.02, 4), 1e-6);
  const double low = rows[0]["interval_s"][0];
  const double high = rows[0]["interval_s"][1];
  EXPECT_NEAR(low * high, 4e-12, 1e-20);
  EXPECT_GT(high / 2e-6, std::exp(1.96 * std::sqrt(0.0013)));
  EXPECT_EQ(rows[0]["flags"], (json{"wide_interval"}));
  EXPECT_EQ(test::row_errors(rows[0]), "");
}

// A table of a family and one of its rows, with an axis more or less; and the row that it is of.
json table_with_row(const json& axes, const json& visits, const json& runs) {
  json table = json::parse(kTable);
  const json key{{"family", "transfer/memcpy"}, {"version", 3}, {"clock", "gated"}};
  table["rows"] = {key};
  table["rows"][0].update({{"axes", axes}, {"visit", visits}, {"run", runs}});
  return table;
}

json uncertainties_by(const json& table) {
  std::vector<json> rows{row_of(some_measurement())};
  add_uncertainties(rows, TypeB(table.dump(), "C", "G"));
  EXPECT_EQ(test::row_errors(rows[0]), "");
  return rows[0]["uncertainty"];
}

TEST(Uncertainties, of_a_row_that_the_table_knows_are_its_own) {
  const json axes = row_of(some_measurement())["case"]["axes"];
  const json own = uncertainties_by(table_with_row(axes, {0.01}, {0.005}));
  EXPECT_NEAR(own["a"]["standard"], 0.01, 1e-12);
  EXPECT_EQ(own["a"]["freedom"], 40.0);
  EXPECT_EQ(own["b"], (json{{"standard", 0.005}}));
  const json half = uncertainties_by(table_with_row(axes, {nullptr}, {0.005}));
  EXPECT_EQ(half["a"]["standard"], 0.02);
  EXPECT_EQ(half["b"]["standard"], 0.005);
  EXPECT_EQ(uncertainties_by(table_with_row(axes, {0.01}, {nullptr}))["b"]["standard"], 0.03);
}

// Rows of two machines: each has its own numbers, and a third those of visits to the first's.
TEST(Uncertainties, of_rows_are_of_their_machine) {
  const json axes = row_of(some_measurement())["case"]["axes"];
  json table = table_with_row(axes, {0.01, 0.04}, {0.005, 0.007});
  table["machines"].push_back({{"cpu", "C"}, {"gpu", "G ×2"}});
  table["families"].push_back(table["families"][0]);
  table["families"][1].update({{"machine", 1}, {"run", {{"standard", 0.05}}}});
  const auto told = [&](const char* gpu) {
    std::vector<json> rows{row_of(some_measurement())};
    add_uncertainties(rows, TypeB(table.dump(), "C", gpu));
    return rows[0]["uncertainty"];
  };
  EXPECT_NEAR(told("G")["a"]["standard"], 0.01, 1e-12);
  EXPECT_EQ(told("G")["b"]["standard"], 0.005);
  EXPECT_NEAR(told("G ×2")["a"]["standard"], 0.04, 1e-12);
  EXPECT_EQ(told("G ×2")["b"]["standard"], 0.007);
  EXPECT_NEAR(told("another")["a"]["standard"], 0.01, 1e-12);
  EXPECT_FALSE(told("another").contains("b"));
  table["rows"][0]["run"] = {0.005};
  EXPECT_THROW(TypeB(table.dump(), "C", "G ×2"), std::logic_error);
}

TEST(Uncertainties, without_the_middle_row_of_a_family_have_what_its_visits_differ_by) {
  json table = table_with_row(row_of(some_measurement())["case"]["axes"], {0.01}, {0.0});
  table["families"][0]["visit"].erase("middle");
  const json told = uncertainties_by(table);
  EXPECT_EQ(told["a"]["standard"], 0.02);
  EXPECT_EQ(told["b"]["standard"], 0.03);  // of a row no number can be 0
}

TEST(Uncertainties, of_another_row_are_those_of_its_family) {
  json axes = row_of(some_measurement())["case"]["axes"];
  axes["another"] = 1;
  const json of_family = uncertainties_by(json::parse(kTable));
  EXPECT_EQ(uncertainties_by(table_with_row(axes, {0.01}, {0.005})), of_family);
  axes.erase("another");
  json table = table_with_row(axes, {0.01}, {0.005});
  table["rows"][0]["version"] = 2;
  EXPECT_EQ(uncertainties_by(table), of_family);
}

TEST(Uncertainties, take_what_is_near_in_a_machine_that_hides_it_for_local) {
  EXPECT_EQ(axes_text({{"locality", "unknown"}, {"bytes", 64}}), R"({"bytes":64,"locality":"local"})");
  EXPECT_EQ(axes_text({{"locality", "remote"}}), R"({"locality":"remote"})");
  EXPECT_EQ(axes_text(json::object()), "{}");
}

TEST(Uncertainties, of_a_machine_or_a_version_that_the_table_does_not_know_lack_type_b) {
  std::vector<json> rows{row_of(some_measurement())};
  add_uncertainties(rows, TypeB(kTable, "C", "another"));
  EXPECT_TRUE(rows[0]["uncertainty"].contains("a"));
  EXPECT_FALSE(rows[0]["uncertainty"].contains("b"));
  EXPECT_FALSE(rows[0]["uncertainty"].contains("combined"));
  EXPECT_TRUE(rows[0].contains("interval_s"));
  rows = {row_of(some_measurement())};
  rows[0]["case"]["version"] = 4;
  add_uncertainties(rows, TypeB(kTable, "C", "G"));
  EXPECT_FALSE(rows[0].contains("uncertainty"));
  EXPECT_FALSE(rows[0].contains("interval_s"));
  EXPECT_EQ(test::row_errors(rows[0]), "");
}

// Two generations of one name were taken for one kind, of which rows differed by far more than the table
// said.
TEST(Uncertainties, are_of_a_kind_of_machine_by_its_cpu_and_caches) {
  Environment environment;
  EXPECT_EQ(cpu_of(environment), "");
  environment.cpu.model = "AMD EPYC";
  EXPECT_EQ(cpu_of(environment), "AMD EPYC");
  environment.cpu.caches = {{3, "unified", 32 * kMiB, 1, 2},
                            {1, "data", 48 * kKiB, 2, 1},
                            {1, "instruction", 32 * kKiB, 2, 1},
                            {2, "unified", 1280 * kKiB, 2, 1}};
  EXPECT_EQ(cpu_of(environment), "AMD EPYC 48/1280/32768 KiB");
}

TEST(Uncertainties, are_of_a_kind_of_machine_by_the_number_of_its_gpus) {
  Environment environment;
  EXPECT_EQ(gpus_of(environment), "");
  environment.gpus.resize(2);
  environment.gpus[0].name = "G";
  environment.gpus[1].name = "another";
  EXPECT_EQ(gpus_of(environment), "G, another");
  environment.gpus[1].name = "G";
  EXPECT_EQ(gpus_of(environment), "G ×2");
  environment.gpus.resize(3);
  environment.gpus[2].name = "another";
  EXPECT_EQ(gpus_of(environment), "G ×2, another");
  std::swap(environment.gpus[0], environment.gpus[2]);  // whichever the driver lists first
  EXPECT_EQ(gpus_of(environment), "G ×2, another");
}

TEST(Uncertainties, of_visits_that_spread_more_than_those_of_their_family_are_flagged) {
  std::vector<json> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(merged_row(visits_of({1, 1.001, 1.0005 + 1e-5 * i}), 3));
  }
  rows.push_back(merged_row(visits_of({1, 1.2, 1.4}), 3));
  add_uncertainties(rows, {});
  EXPECT_TRUE(rows[3]["flags"].empty()) << rows[3]["flags"];
  EXPECT_EQ(rows[20]["flags"], (json{"wide_interval", "visits_differ"}));
  EXPECT_GT(rows[20]["uncertainty"]["a"]["standard"],
            5 * rows[3]["uncertainty"]["a"]["standard"].get<double>());
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
  measurement.power_w = 350;
  measurement.link_peak_gb_s = 50;
  measurement.counters["ratio"] = 9.5;
  measurement.link_bytes_asked = 16384;
  const json row = row_of(measurement);
  EXPECT_EQ(test::row_errors(row), "");
  EXPECT_EQ(row["link_bytes_least"], 8192);
  EXPECT_EQ(row["limit"], "PCIe 5.0 x16");
  EXPECT_EQ(row["traffic"]["label"], "counted");
  EXPECT_EQ(row["traffic"]["requests_by_size"], (json{{"32", 1}, {"128", 32}}));
  EXPECT_EQ(row["energy_j"], 0.25);
  EXPECT_EQ(row["power_w"], 350);
  EXPECT_DOUBLE_EQ(row["link_fraction"], 4096 / 2e-6 / 1e9 / 50);
  EXPECT_EQ(row["counters"]["ratio"], 9.5);
  EXPECT_EQ(row["link_bytes_asked"], 16384);
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

// Physical limits: what they are of, that every row of the host has one, and that times which are half of
// what was measured are caught, family by family. The stored run is of schema 1;
// tests/python/test_physical_limits.py asks the same of packed runs of schema 2, and names what is not
// caught.

json stored(const std::string& name) {
  std::ifstream file(std::string(GRAINSCOPE_REFERENCE) + "/" + name);
  return json::parse(file);
}

// The GPU of a stored result, as far as limits need it.
Machine machine_of(const json& result) {
  Machine machine = test::machine_without_gpu();
  const json& told = result.at("context").at("environment").at("gpus").at(0).at("cuda");
  cuda::DeviceProperties device;
  device.sm_count = told.at("sm_count");
  device.l2_bytes = told.at("l2_bytes");
  device.memory_clock_hz = told.at("memory_clock_hz");
  device.memory_bus_width_bits = told.at("memory_bus_width_bits");
  machine.environment.gpus.emplace_back().cuda = device;
  return machine;
}

// A stored row whose samples all took its median, multiplied by `factor`.
Measurement measured(const json& row, const Machine& machine, double factor) {
  Measurement measurement;
  measurement.samples.seconds.assign(8, row.at("median_s").get<double>() * factor);
  measurement.samples.summary = summarize(measurement.samples.seconds);
  measurement.verification = row.at("verification");
  measurement.bytes = row.value("bytes", std::uint64_t{0});
  measurement.operations = row.value("operations", std::uint64_t{0});
  for (const char* const field : {"link_bytes_least", "link_bytes"}) {  // today's name and that of before
    if (row.contains(field)) {
      measurement.link_bytes_least = row[field];
    }
  }
  if (row.contains("limit_gb_s")) {
    measurement.limit = PhysicalLimit{row["limit_gb_s"], row["limit"]};
  } else if (row["case"]["family"] == "grain/gpu_memory") {
    measurement.limit = gpu_memory_limit(machine, 0, measurement.bytes);
  }
  return measurement;
}

TEST(PhysicalLimits, of_links_and_memories_catch_half_the_time_in_each_family) {
  const json result = stored("h100-quick.json");
  const Machine machine = machine_of(result);
  std::set<std::string> limited;
  std::set<std::string> caught;
  for (const json& row : result.at("benchmarks")) {
    if (row.at("status") != "ok" || row.at("label") != "measured") {
      continue;
    }
    const std::string family = row.at("case").at("family");
    if (!measured(row, machine, 1).limit || family.starts_with("host/")) {
      continue;
    }
    limited.insert(family);
    EXPECT_EQ(why_impossible(measured(row, machine, 1)), "") << row["name"];
    if (why_impossible(measured(row, machine, 0.5)).starts_with("impossible")) {
      caught.insert(family);
    }
  }
  // Of these no row of this run comes near its limit: a copy by the driver's one thread of the CPU, a gather
  // beside a step that takes longer, and algorithms that need few of their edges.
  for (const char* const slow :
       {"transfer/host_copy", "sm_share/split", "lean/bfs", "lean/cc", "lean/sssp"}) {
    EXPECT_FALSE(caught.contains(slow));
    limited.erase(slow);
  }
  EXPECT_EQ(caught, limited);
  EXPECT_GT(caught.size(), 16U);
}

TEST(PhysicalLimits, of_a_gpus_memory_count_what_its_cache_may_hold) {
  Machine machine = test::machine_without_gpu();
  cuda::DeviceProperties device;
  device.sm_count = 100;
  device.l2_bytes = 50 * kMiB;
  device.memory_clock_hz = 1'000'000'000;
  device.memory_bus_width_bits = 4096;  // 1024 GB/s
  machine.environment.gpus.emplace_back().cuda = device;
  EXPECT_DOUBLE_EQ(gpu_memory_limit(machine, 0, 100 * kMiB)->gb_s, 2048);
  EXPECT_NEAR(gpu_memory_limit(machine, 0, 500 * kMiB)->gb_s, 1024 / 0.9, 1e-9);
  EXPECT_DOUBLE_EQ(gpu_memory_limit(machine, 0, 50 * kMiB)->gb_s, 38'400) << "all may come from the cache";
  EXPECT_DOUBLE_EQ(local_copy_limit(machine, 0, kMiB)->gb_s, 38'400);
  EXPECT_DOUBLE_EQ(local_copy_limit(machine, 0, 500 * kMiB)->gb_s, 512);
  EXPECT_FALSE(gpu_memory_limit(machine, 1, kMiB));
}

class HostLimits : public testing::Test {
 protected:
  Measurement run(const Benchmark& benchmark) {
    LinkPeaks peaks(machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine_, {.ci_target = 0.1, .budget_s = 0.01, .warmups = 1}, peaks, nullptr,
                    [] { return false; });
    return benchmark.run(session);
  }
  Machine machine_ = test::machine_without_gpu();
};

TEST_F(HostLimits, every_row_of_the_host_has_one_and_no_copy_of_24_tb_a_second_passes) {
  std::size_t ran = 0;
  std::size_t of_two_clocks = 0;
  for (const Benchmark& benchmark :
       test::listed({host_memcpy(), host_latency(), host_first_touch(), host_flush()}, machine_,
                    Preset::smoke, true)) {
    if (!benchmark.skip.empty()) {
      continue;
    }
    Measurement measurement;
    try {
      measurement = run(benchmark);
    } catch (const std::exception&) {
      continue;  // no huge pages here
    }
    ++ran;
    ASSERT_TRUE(measurement.limit) << benchmark.id.name();
    EXPECT_EQ(why_impossible(measurement), "") << benchmark.id.name();
    // Of many threads more is possible.
    if (benchmark.id.family == "host/memcpy" && test::text_of(benchmark, "threads") == "1") {
      EXPECT_LT(measurement.limit->gb_s, 24'000);
    }
    if (measurement.around_s && *measurement.around_s > 1e-3) {
      ++of_two_clocks;
      measurement.limit.reset();
      measurement.samples.summary.median /= 2;
      EXPECT_NE(why_impossible(measurement), "") << benchmark.id.name();
    }
  }
  EXPECT_GT(ran, 3U);
  EXPECT_GT(of_two_clocks, 0U);
}

TEST_F(HostLimits, a_cycle_is_that_of_a_cpu_between_one_and_six_gigahertz) {
  EXPECT_GT(cycle_s(), 1 / 6.5e9);
  EXPECT_LT(cycle_s(), 1 / 0.8e9);
}

}  // namespace
}  // namespace grainscope::harness
