// The program itself: what it prints and how it ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/sampler.hpp"
#include "harness/result_store.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Ended;
using test::kFewCases;
using test::run_program;
using test::TemporaryDirectory;

void expect_refused(const std::vector<std::string>& arguments, int status,
                    const std::vector<std::string>& said) {
  const Ended ended = run_program(arguments);
  EXPECT_EQ(ended.status, status) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err.find("grainscope: "), 0U) << ended.err;
  for (const std::string& words : said) {
    EXPECT_NE(ended.err.find(words), std::string::npos) << "'" << words << "' is not in: " << ended.err;
  }
}

TEST(Program, a_flag_that_cannot_be_honoured_ends_with_2_and_what_to_use_instead) {
  expect_refused({"--benchmark_min_time=1"}, 2, {"--benchmark_min_time", "--ci-target"});
  expect_refused({"--no-such-flag"}, 2, {"--no-such-flag", "--help"});
  expect_refused({"--preset=fast"}, 2, {"smoke, quick, full, paper and acceptance"});
}

TEST(Program, a_filter_that_matches_nothing_ends_with_2_and_near_names) {
  expect_refused({"--benchmark_filter=host/memcopy"}, 2,
                 {"no case matches 'host/memcopy'", "  host/memcpy/"});
  expect_refused({"--benchmark_filter=("}, 2, {"--benchmark_filter", "regular expression"});
}

TEST(Program, a_gpu_or_node_that_does_not_exist_ends_with_3) {
  expect_refused({"--gpu=63"}, 3, {"GPU 63"});
  expect_refused({"--numa=4711"}, 3, {"NUMA node 4711", "usable: "});
}

TEST(Program, a_folder_that_cannot_be_written_ends_with_3_and_runs_nothing) {
  const TemporaryDirectory directory;
  test::write_text(directory / "file", "");
  expect_refused({"--preset=smoke", kFewCases, "--out=" + (directory / "file").string() + "/run"}, 3,
                 {"could not write", "--out"});
}

TEST(Program, a_folder_that_holds_a_run_ends_with_2) {
  const TemporaryDirectory directory;
  test::write_text(directory / "result.json", "{}");
  expect_refused({"--preset=smoke", "--out=" + directory.path().string()}, 2,
                 {"already holds a finished run"});
}

TEST(Program, there_is_nothing_to_resume_in_an_empty_folder) {
  const TemporaryDirectory directory;
  expect_refused({"--resume=" + directory.path().string()}, 2, {"no journal.jsonl"});
}

TEST(Program, a_run_that_was_ended_in_its_first_write_is_begun_over_in_its_folder) {
  const TemporaryDirectory directory;
  const std::string folder = directory.path().string();
  test::write_text(directory / "journal.jsonl", R"({"fingerprint": {"comm)");
  expect_refused({"--resume=" + folder}, 2, {"before it had finished anything", "--out " + folder});
  EXPECT_EQ(run_program({"--preset=smoke", kFewCases, "--out=" + folder}).status, 0);
  EXPECT_EQ(test::result_errors(test::read_result(folder)), "");
}

TEST(Program, a_run_of_another_machine_is_not_resumed) {
  const TemporaryDirectory directory;
  test::write_text(directory / "journal.jsonl", journal_line({{"journal", 3},
                                                              {"id", "x"},
                                                              {"started", "then"},
                                                              {"flags", json::array()},
                                                              {"fingerprint", {{"host", "elsewhere"}}}}));
  expect_refused({"--resume=" + directory.path().string()}, 3, {"host", "elsewhere", "--out"});
}

TEST(Program, lists_what_it_would_run_within_a_second) {
  const double start_s = steady_now_s();
  const Ended ended = run_program({"--benchmark_list_tests", "--preset=smoke"});
  EXPECT_LT(steady_now_s() - start_s, 1.0);
  EXPECT_EQ(ended.status, 0);
  std::istringstream lines(ended.out);
  std::string line;
  int cases = 0;
  while (std::getline(lines, line)) {
    EXPECT_EQ(line.find(' '), std::string::npos) << line;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

TEST(Program, plans_explains_and_names_its_version_and_flags) {
  EXPECT_NE(run_program({"--plan", "--v=1"}).out.find("host/memcpy"), std::string::npos);
  const Ended explained = run_program({"--explain", "host/flush"});
  EXPECT_EQ(explained.status, 0);
  EXPECT_NE(explained.out.find("Comm|Scope"), std::string::npos) << explained.out;
  EXPECT_EQ(run_program({"--version"}).out.find("grainscope "), 0U);
  EXPECT_NE(run_program({"--help"}).out.find("--benchmark_filter"), std::string::npos);
  expect_refused({"--explain=nothing_like_it"}, 2, {"there is no case 'nothing_like_it'"});
}

TEST(Program, reports_the_machine_within_a_second) {
  const double start_s = steady_now_s();
  const Ended ended = run_program({"--env=json"});
  EXPECT_LT(steady_now_s() - start_s, 1.0);
  EXPECT_EQ(ended.status, 0);
  const json report = json::parse(ended.out);
  EXPECT_TRUE(report.contains("cpu"));
  EXPECT_TRUE(report.contains("warnings"));
  EXPECT_FALSE(run_program({"--env"}).out.empty());
}

TEST(Program, keeps_a_run_as_the_schema_describes_it) {
  const TemporaryDirectory directory;
  const auto folder = directory / "run";
  const Ended ended = run_program({"--preset=smoke", kFewCases, "--out=" + folder.string()});
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json result = test::read_result(folder);
  EXPECT_EQ(test::result_errors(result), "");
  EXPECT_EQ(result["context"]["run"]["preset"], "smoke");
  EXPECT_EQ(result["context"]["run"]["flags"],
            (json{"--benchmark_filter=^host/memcpy/.*threads:1/", "--preset=smoke"}));
  EXPECT_GE(result["benchmarks"].size(), 4U);
  EXPECT_NE(ended.err.find((folder / "result.json").string()), std::string::npos) << ended.err;
}

TEST(Program, shards_put_together_are_the_whole) {
  const TemporaryDirectory directory;
  std::multiset<std::string> parts;
  const std::vector<std::string> what{"--preset=smoke", "--benchmark_filter=threads:1/|managed"};
  const auto names_of_run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = what;
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back("--out=" + (directory / name).string());
    EXPECT_EQ(run_program(arguments).status, 0);
    return test::names_of(test::read_result(directory / name));
  };
  for (const char* shard : {"1/2", "2/2"}) {
    for (const std::string& name :
         names_of_run(std::string("part") + shard[0], {std::string("--shard=") + shard})) {
      parts.insert(name);
    }
  }
  const auto whole = names_of_run("whole", {});
  EXPECT_EQ(parts, std::multiset<std::string>(whole.begin(), whole.end()));
}

}  // namespace
}  // namespace grainscope::harness
