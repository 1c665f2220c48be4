// Whole runs of families that measure nothing.

#include "harness/suite.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "fake_run.hpp"
#include "grainscope/core/error.hpp"
#include "harness/result_store.hpp"
#include "run_folder.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::fake_case;
using test::fake_name;

class SuiteRun : public test::FakeRun {
 protected:
  // Runs and gives the result file.
  json result_of(const std::vector<Benchmark>& cases, int status, std::vector<std::string> more = {}) {
    const Ended ended = begin(cases, std::move(more));
    EXPECT_EQ(ended.status, status) << ended.err;
    return result();
  }
};

TEST_F(SuiteRun, of_good_cases_ends_with_0_and_a_row_each) {
  const json result = result_of({fake_case("a"), fake_case("b")}, 0);
  EXPECT_EQ(test::names_of(result), (std::vector{fake_name("a"), fake_name("b")}));
  EXPECT_EQ(result["context"]["run"]["complete"], true);
  EXPECT_EQ(result["context"]["run"]["why_incomplete"], nullptr);
  EXPECT_EQ(result["context"]["run"]["counts"], (json{{"ok", 2}, {"skipped", 0}, {"failed", 0}}));
  const json& row = test::row_named(result, fake_name("a"));
  EXPECT_EQ(row["run_name"], fake_name("a"));
  EXPECT_EQ(row["iterations"], 1);
  EXPECT_DOUBLE_EQ(row["real_time"], 1000);
  EXPECT_EQ(row["time_unit"], "us");
  EXPECT_DOUBLE_EQ(row["bandwidth_gb_s"], 1);
}

TEST_F(SuiteRun, with_an_impossible_result_fails_that_row_and_ends_with_1) {
  const auto impossible = [](Session& session) {
    Measurement measurement = test::honest(session);
    measurement.bytes = 37'197'000'000;
    return measurement;
  };
  const json result = result_of({fake_case("good"), fake_case("planted", impossible)}, 1);
  const json& row = test::row_named(result, fake_name("planted"));
  EXPECT_EQ(row["status"], "failed");
  EXPECT_EQ(row["reason"].get<std::string>().find("impossible: "), 0U) << row["reason"];
  EXPECT_NE(row["reason"].get<std::string>().find("a link of glass"), std::string::npos) << row["reason"];
  EXPECT_GE(row["visits"][0]["samples_s"].size(), 8U);
  EXPECT_EQ(test::row_named(result, fake_name("good"))["status"], "ok");
  EXPECT_EQ(result["context"]["run"]["complete"], true);
}

TEST_F(SuiteRun, with_a_result_that_nobody_checked_fails_that_row) {
  const auto unchecked = [](Session& session) {
    Measurement measurement = test::honest(session);
    measurement.verification.clear();
    return measurement;
  };
  const json result = result_of({fake_case("unchecked", unchecked)}, 1);
  EXPECT_NE(result["benchmarks"][0]["reason"].get<std::string>().find("not verified"), std::string::npos);
}

TEST_F(SuiteRun, goes_on_after_a_case_that_throws) {
  const auto throws = [](auto error) { return [error](Session&) -> Measurement { throw error; }; };
  const json result = result_of(
      {fake_case("wrong", throws(FailedError("word 7 is wrong"))),
       fake_case("logic", throws(std::logic_error("a bug"))), fake_case("memory", throws(std::bad_alloc())),
       fake_case("usage", throws(UsageError("no such size"))), fake_case("last")},
      1);
  EXPECT_EQ(test::row_named(result, fake_name("wrong"))["reason"], "word 7 is wrong");
  EXPECT_EQ(test::row_named(result, fake_name("logic"))["reason"], "a bug");
  EXPECT_NE(test::row_named(result, fake_name("memory"))["reason"].get<std::string>().find("--max-bytes"),
            std::string::npos);
  EXPECT_EQ(test::row_named(result, fake_name("usage"))["status"], "failed");
  EXPECT_EQ(test::row_named(result, fake_name("last"))["status"], "ok");
  EXPECT_EQ(result["context"]["run"]["counts"], (json{{"ok", 1}, {"skipped", 0}, {"failed", 4}}));
}

TEST_F(SuiteRun, what_the_machine_forbids_is_skipped_and_no_failure) {
  const json result = result_of(
      {fake_case("skip", [](Session&) -> Measurement { throw SkipError("no room"); }),
       fake_case("missing", [](Session&) -> Measurement { throw EnvironmentError("no huge pages"); })},
      0);
  EXPECT_EQ(test::row_named(result, fake_name("skip"))["status"], "skipped");
  EXPECT_EQ(test::row_named(result, fake_name("skip"))["reason"], "no room");
  EXPECT_EQ(test::row_named(result, fake_name("missing"))["reason"], "no huge pages");
  EXPECT_FALSE(result["benchmarks"][0].contains("median_s"));
}

TEST_F(SuiteRun, of_nothing_but_skipped_cases_is_a_whole_result) {
  Benchmark absent = fake_case("absent");
  absent.skip = "it is not here";
  const json result = result_of({absent}, 0);
  ASSERT_EQ(result["benchmarks"].size(), 1U);
  EXPECT_EQ(result["benchmarks"][0]["status"], "skipped");
  EXPECT_EQ(result["benchmarks"][0]["reason"], "it is not here");
  EXPECT_TRUE(result["context"].contains("num_cpus"));
}

TEST_F(SuiteRun, makes_the_visits_to_a_case_one_row) {
  const json result =
      result_of({fake_case("a"), fake_case("b")}, 0, {"--benchmark_repetitions=3", "--one-process"});
  ASSERT_EQ(result["benchmarks"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& row = result["benchmarks"][i];
    EXPECT_EQ(row["name"], fake_name(i == 0 ? "a" : "b"));
    EXPECT_FALSE(row.contains("repetitions"));
    ASSERT_EQ(row["visits"].size(), 3U);
    for (std::size_t visit = 0; visit < 3; ++visit) {
      EXPECT_EQ(row["visits"][visit]["round"], visit + 1);
    }
  }
  EXPECT_EQ(result["context"]["run"]["visits"], 3);
  EXPECT_EQ(result["context"]["run"]["counts"]["ok"], 2);
}

TEST_F(SuiteRun, shows_aggregates_alone_when_the_preset_repeats) {
  const Ended ended =
      begin({fake_case("a")}, {"--preset=acceptance", "--one-process", "--benchmark_format=csv",
                               "--benchmark_report_aggregates_only"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("_median"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("bytes:1000000\","), std::string::npos) << ended.out;
}

TEST_F(SuiteRun, whose_disk_fills_up_ends_with_3_and_keeps_what_was_written) {
  // From the second case on no file may grow beyond what the journal has by then.
  const auto fill = [this](Session& session) {
    static const test::FullDisk full(std::filesystem::file_size(folder() / "journal.jsonl") + 10);
    return test::honest(session);
  };
  const Ended ended = begin({fake_case("a"), fake_case("b", fill), fake_case("c")});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(folder() / "result.json"));
  const Journal journal = read_journal(folder());
  EXPECT_EQ(test::cases_in(journal), std::set<std::string>{fake_name("a")});
}

}  // namespace
}  // namespace grainscope::harness
