// What a run writes for other programs and for people.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "child.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::run_program;
using test::TemporaryDirectory;

Ended run_few(std::vector<std::string> more, const test::Variables& variables = {}) {
  more.insert(more.begin(), {"--preset=smoke", "--benchmark_filter=^host/memcpy/.*flush:off/threads:1/"});
  return run_program(more, variables);
}

void expect_clean_names(const json& output) {
  ASSERT_GE(output.at("benchmarks").size(), 2U);
  for (const json& row : output["benchmarks"]) {
    const std::string name = row["name"];
    EXPECT_EQ(name.find("host/memcpy/"), 0U) << name;
    EXPECT_EQ(name.find("iterations:"), std::string::npos) << name;
    EXPECT_EQ(name.find("manual_time"), std::string::npos) << name;
    EXPECT_EQ(name.find("repeats:"), std::string::npos) << name;
  }
}

TEST(Output, as_json_is_all_that_is_on_stdout_and_has_clean_names) {
  const Ended ended = run_few({"--benchmark_format=json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json output = json::parse(ended.out);
  expect_clean_names(output);
  EXPECT_TRUE(output["context"].contains("num_cpus"));
  EXPECT_GT(output["benchmarks"][0]["real_time"], 0);
}

TEST(Output, of_repetitions_has_clean_names_and_aggregates) {
  const Ended ended = run_few({"--benchmark_format=json", "--benchmark_repetitions=2"});
  const json output = json::parse(ended.out);
  expect_clean_names(output);
  EXPECT_NE(ended.out.find("_median\""), std::string::npos) << ended.out;
}

TEST(Output, of_repetitions_is_aggregates_alone_where_asked_for) {
  const Ended ended =
      run_few({"--benchmark_format=json", "--benchmark_repetitions=2", "--benchmark_report_aggregates_only"});
  // Named: a range-for keeps no more than the last of a chain of temporaries alive.
  const json output = json::parse(ended.out);
  ASSERT_FALSE(output["benchmarks"].empty());
  for (const json& row : output["benchmarks"]) {
    EXPECT_EQ(row["run_type"], "aggregate") << row.dump();
  }
}

TEST(Output, as_csv_has_a_head_and_a_line_a_case) {
  const Ended ended = run_few({"--benchmark_format=csv"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out.find("name,iterations,real_time"), 0U) << ended.out;
  EXPECT_NE(ended.out.find("\n\"host/memcpy/"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("manual_time"), std::string::npos) << ended.out;
}

TEST(Output, on_the_console_is_a_table_without_colour_where_it_is_no_terminal) {
  const Ended ended = run_few({});
  EXPECT_NE(ended.out.find("\nhost/memcpy  "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("GB/s"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find('\033'), std::string::npos) << ended.out;
  EXPECT_EQ(ended.err.find('\033'), std::string::npos) << ended.err;
}

TEST(Output, has_no_colour_with_no_color_nor_where_it_is_refused) {
  EXPECT_EQ(run_few({}, {{"NO_COLOR", "1"}}).out.find('\033'), std::string::npos);
  EXPECT_EQ(run_few({"--benchmark_color=false"}).out.find('\033'), std::string::npos);
}

TEST(Output, also_goes_to_a_file_in_a_format_of_its_own) {
  const TemporaryDirectory directory;
  const auto file = directory / "out.json";
  const Ended ended = run_few({"--benchmark_out=" + file.string()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("\nhost/memcpy  "), std::string::npos) << ended.out;
  expect_clean_names(json::parse(test::read_text(file)));
  const auto csv = directory / "out.csv";
  EXPECT_EQ(run_few({"--benchmark_out=" + csv.string(), "--benchmark_out_format=csv"}).status, 0);
  EXPECT_NE(test::read_text(csv).find("name,iterations,"), std::string::npos);
}

TEST(Output, to_a_file_that_cannot_be_written_ends_with_3) {
  const Ended ended = run_few({"--benchmark_out=/no/such/folder/out.json"});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_NE(ended.err.find("/no/such/folder/out.json"), std::string::npos) << ended.err;
}

TEST(Output, carries_the_users_context_and_time_unit) {
  const Ended ended =
      run_few({"--benchmark_format=json", "--benchmark_context=rack=7", "--benchmark_time_unit=ms"});
  const json output = json::parse(ended.out);
  EXPECT_EQ(output["context"]["rack"], "7");
  EXPECT_EQ(output["benchmarks"][0]["time_unit"], "ms");
}

}  // namespace
}  // namespace grainscope::harness
