// The program itself: what it prints and how it ends.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/numa.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/result_store.hpp"

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

TEST(Program, few_descriptors_end_with_3_and_the_remedy_before_anything_is_begun) {
  const TemporaryDirectory directory;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  for (const rlim_t count : {rlim_t{12}, rlim_t{24}}) {
    few.rlim_cur = count;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    test::Child child = test::Child::program({kFewCases, "--preset=smoke", "--out", directory / "run"});
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    const Ended ended = child.wait();
    EXPECT_EQ(ended.status, 3) << ended.err;
    EXPECT_NE(ended.err.find("ulimit -n"), std::string::npos) << ended.err;
    EXPECT_FALSE(std::filesystem::exists(directory / "run"));
  }
}

TEST(Program, caches_that_cannot_be_read_are_told_and_do_not_end_it_inside_the_library) {
  const TemporaryDirectory root;
  const auto cache = root / "sys" / "devices/system/cpu/cpu0/cache/index0";
  EXPECT_EQ(why_library_ends(root.path()), "") << "a machine that shows no caches";
  std::filesystem::create_directories(cache);
  for (const auto& [name, text] :
       {std::pair("size", "32K"), {"type", "Data"}, {"level", "1"}, {"shared_cpu_map", "1"}}) {
    test::write_text(cache / name, text);
  }
  EXPECT_EQ(why_library_ends(root.path()), "");
  test::write_text(cache / "size", "");
  EXPECT_NE(why_library_ends(root.path()).find("index0/size"), std::string::npos);
  test::write_text(cache / "size", "32Q");
  EXPECT_NE(why_library_ends(root.path()).find("index0/size"), std::string::npos);
  test::write_text(cache / "size", "32K");
  std::filesystem::remove(cache / "type");
  EXPECT_NE(why_library_ends(root.path()).find("index0/type"), std::string::npos);
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

TEST(Program, shows_a_screen_of_40_lines_and_the_rest_where_asked) {
  const auto lines = [](const std::vector<std::string>& words) {
    const std::string text = run_program(words).out;
    return std::count(text.begin(), text.end(), '\n');
  };
  for (const char* flag : {"--env", "--families", "--plan", "--help"}) {
    EXPECT_GT(lines({flag}), 10) << flag;
    EXPECT_LE(lines({flag}), 40) << flag;
  }
  for (const char* flag : {"--env", "--families", "--plan"}) {
    EXPECT_GT(lines({flag, "--full"}), lines({flag})) << flag;
  }
  expect_refused({"--full"}, 2, {"--v=1", "--preset full"});
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
  for (const char* run : {"part1", "part2", "whole"}) {  // what `merge` goes by
    EXPECT_EQ(test::read_result(directory / run)["context"]["run"]["shard"]["cases"], parts.size()) << run;
  }
}

}  // namespace
namespace {

// What the environment that the program is started in may change: nothing in silence.

using test::says;

json environment_with(const test::Variables& variables) {
  return json::parse(run_program({"--env=json"}, variables).out);
}

// The warning with that id; null where there is none.
json warning_in(const json& environment, const std::string& id) {
  for (const json& warning : environment["warnings"]) {
    if (warning["id"] == id) {
      return warning;
    }
  }
  return nullptr;
}

// Programs are started without what the tests themselves are started with.
class OpenMpVariables : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> names;
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string name(*each, std::strcspn(*each, "="));
      if (name.starts_with("OMP_") || name.starts_with("GOMP_") || name.starts_with("KMP_")) {
        names.push_back(name);
      }
    }
    for (const std::string& name : names) {
      unsetenv(name.c_str());
    }
  }
};

const std::vector<test::Variables> kSettings{{{"OMP_PROC_BIND", "true"}},  {{"OMP_PLACES", "{0}"}},
                                             {{"GOMP_CPU_AFFINITY", "0"}}, {{"OMP_NUM_THREADS", "1"}},
                                             {{"OMP_THREAD_LIMIT", "1"}},  {{"OMP_DYNAMIC", "true"}},
                                             {{"KMP_AFFINITY", "compact"}}};

TEST_F(OpenMpVariables, take_no_cpu_away_and_are_said) {
  const std::vector<int> allowed = current_affinity();
  EXPECT_TRUE(warning_in(environment_with({}), "cpu.openmp_variables").is_null());
  for (const test::Variables& variables : kSettings) {
    const auto& [name, value] = variables.front();
    const json environment = environment_with(variables);
    EXPECT_EQ(environment["cpu"]["allowed"], allowed) << name;
    const json warning = warning_in(environment, "cpu.openmp_variables");
    ASSERT_TRUE(warning.is_object()) << name;
    EXPECT_TRUE(says(warning["finding"], name + "=" + value)) << warning["finding"];
    EXPECT_TRUE(says(warning["remedy"], "unset " + name)) << warning["remedy"];
  }
}

TEST_F(OpenMpVariables, leave_the_mask_that_the_program_was_started_with) {
  const std::vector<int> allowed = current_affinity();
  const OnCpu mask(allowed.back());  // which programs started meanwhile inherit
  const json environment =
      environment_with({{"OMP_PROC_BIND", "true"}, {"OMP_PLACES", "{" + std::to_string(allowed[0]) + "}"}});
  EXPECT_EQ(environment["cpu"]["allowed"], json{allowed.back()});
  EXPECT_EQ(warning_in(environment, "cpu.mask").is_null(), environment["cpu"]["online"].size() == 1);
}

TEST_F(OpenMpVariables, do_not_tell_a_path_or_write_to_a_terminal) {
  const json warning = warning_in(
      environment_with({{"OMP_TOOL_LIBRARIES", "/home/somebody/tool.so"}, {"GOMP_DEBUG", "\x1b[2J"}}),
      "cpu.openmp_variables");
  ASSERT_TRUE(warning.is_object());
  for (const auto& [key, text] : warning.items()) {
    EXPECT_FALSE(says(text, "somebody")) << text;
    EXPECT_FALSE(says(text, "\x1b")) << text;
  }
  EXPECT_TRUE(says(warning["finding"], "OMP_TOOL_LIBRARIES"));
}

TEST_F(OpenMpVariables, are_not_the_only_ones_that_change_times) {
  const char* const id = "environment.settings";
  EXPECT_TRUE(warning_in(environment_with({{"CUDA_VISIBLE_DEVICES", "0"}}), id).is_null());
  EXPECT_TRUE(warning_in(environment_with({{"CUDA_LAUNCH_BLOCKING", ""}}), id).is_null());
  const json warning = warning_in(environment_with({{"GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1024"},
                                                    {"MALLOC_ARENA_MAX", "1"},
                                                    {"CUDA_LAUNCH_BLOCKING", "1"},
                                                    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "/home/somebody"}}),
                                  id);
  ASSERT_TRUE(warning.is_object());
  for (const char* const told : {"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1024", "MALLOC_ARENA_MAX=1",
                                 "CUDA_LAUNCH_BLOCKING=1", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"}) {
    EXPECT_TRUE(says(warning["finding"], told)) << warning["finding"];
  }
  EXPECT_FALSE(says(warning["finding"], "somebody")) << warning["finding"];
}

// Rounds of visits are processes of their own.
TEST_F(OpenMpVariables, list_and_run_the_same_cases_with_the_same_threads) {
  const std::vector<std::string> listing{"--preset=smoke", "--benchmark_list_tests"};
  const std::string listed = run_program(listing).out;
  const auto threads_of_run = [&](const test::Variables& variables) {
    const TemporaryDirectory directory;
    const Ended ended = run_program({"--preset=smoke", "--benchmark_filter=^tiering/reorder",
                                     "--benchmark_repetitions=2", "--out=" + (directory / "run").string()},
                                    variables);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(says(ended.err, "warning: variables of OpenMP"), !variables.empty()) << ended.err;
    const json result = test::read_result(directory / "run");
    EXPECT_EQ(warning_in(result["context"]["environment"], "cpu.openmp_variables").is_null(),
              variables.empty());
    std::vector<double> threads;
    for (const json& row : result["benchmarks"]) {
      threads.push_back(row.at("counters").value("threads", 0.0));
    }
    return threads;
  };
  const std::vector<double> threads = threads_of_run({});
  EXPECT_FALSE(threads.empty());
  for (const test::Variables& variables :
       {test::Variables{{"OMP_NUM_THREADS", "1"}}, test::Variables{{"OMP_PLACES", "{0}"}}}) {
    EXPECT_EQ(run_program(listing, variables).out, listed);
    EXPECT_EQ(threads_of_run(variables), threads);
  }
}

}  // namespace
namespace {

// What a run writes for other programs and for people.

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
namespace {

// The program, stopped while it measures.

using test::Child;

class StoppedProgram : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder(const std::string& name) const { return directory_ / name; }

  // Many short cases: a second of work, which the signal reaches long before its end; none that waits
  // for a quiet machine, as host/flush may.
  [[nodiscard]] std::vector<std::string> command(const std::string& name) const {
    return {"--preset=smoke", "--benchmark_repetitions=12",
            "--benchmark_filter=^host/(memcpy|latency|malloc)/", "--out=" + folder(name).string()};
  }

  // Sends a signal once the journal holds a finished case, and waits for the end.
  [[nodiscard]] Ended stop(const std::string& name, int signal) const {
    Child child = Child::program(command(name));
    const auto journal = folder(name) / "journal.jsonl";
    const double deadline_s = steady_now_s() + 10;
    while (lines_of(journal) < 3 && steady_now_s() < deadline_s) {
      usleep(1000);
    }
    child.send(signal);
    return child.wait();
  }

  [[nodiscard]] static long lines_of(const std::filesystem::path& path) {
    const std::string text = test::read_text(path);
    return std::count(text.begin(), text.end(), '\n');
  }

  void expect_resumed_to_the_whole(const std::string& name) const {
    const Ended resumed = run_program({"--resume=" + folder(name).string()});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    const json result = test::read_result(folder(name));
    EXPECT_EQ(test::result_errors(result), "");
    EXPECT_EQ(result["context"]["run"]["complete"], true);
    EXPECT_EQ(run_program(command("uninterrupted")).status, 0);
    auto names = test::names_of(result);
    auto whole = test::names_of(test::read_result(folder("uninterrupted")));
    std::sort(names.begin(), names.end());
    std::sort(whole.begin(), whole.end());
    EXPECT_EQ(names, whole);
  }

  TemporaryDirectory directory_;
};

TEST_F(StoppedProgram, by_ctrl_c_ends_with_130_and_what_there_is_and_goes_on) {
  const Ended ended = stop("run", SIGINT);
  EXPECT_EQ(ended.status, 130) << ended.err;
  const json part = test::read_result(folder("run"));
  EXPECT_EQ(test::result_errors(part), "");
  EXPECT_EQ(part["context"]["run"]["complete"], false);
  EXPECT_GE(part["benchmarks"].size(), 1U);
  expect_resumed_to_the_whole("run");
}

TEST_F(StoppedProgram, by_a_terminal_that_closes_or_quits_leaves_a_result) {
  for (const int signal : {SIGHUP, SIGQUIT}) {
    const std::string name = "run" + std::to_string(signal);
    const Ended ended = stop(name, signal);
    EXPECT_EQ(ended.status, 128 + signal) << ended.err;
    EXPECT_EQ(test::read_result(folder(name))["context"]["run"]["complete"], false);
  }
}

TEST_F(StoppedProgram, by_a_kill_goes_on_from_its_journal) {
  const Ended ended = stop("run", SIGKILL);
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(folder("run") / "result.json"));
  expect_resumed_to_the_whole("run");
}

}  // namespace
}  // namespace grainscope::harness
