// In which order a run comes to its cases, and what becomes of the processes that it starts.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../testing/says.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/system/managed_counter.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/sysfs.hpp"
#include "harness/benchmark.hpp"
#include "harness/result_store.hpp"
#include "harness/visits.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Child;
using test::Ended;
using test::run_program;
using test::says;
using test::TemporaryDirectory;

// Families a, b and c of four cases; those of b are over two graphs in turn.
std::vector<Benchmark> cases() {
  std::vector<Benchmark> all;
  for (const std::string family : {"a", "b", "c"}) {
    for (int i = 0; i < 4; ++i) {
      Benchmark benchmark;
      benchmark.id = {family, {{"at", static_cast<std::int64_t>(i)}}, {}};
      if (family == "b") {
        benchmark.id.axes.push_back({"graph", std::string(i % 2 == 0 ? "kron:20" : "urand:20")});
      }
      all.push_back(std::move(benchmark));
    }
  }
  return all;
}

std::string families_in(const std::vector<std::size_t>& order) {
  std::string text;
  const auto all = cases();
  for (const std::size_t i : order) {
    text += all[i].id.family;
  }
  text.erase(std::unique(text.begin(), text.end()), text.end());
  return text;
}

TEST(VisitOrder, comes_to_each_case_once_and_is_the_same_for_the_same_seed) {
  std::vector<std::size_t> order = visit_order(cases(), 7, 1);
  EXPECT_EQ(order, visit_order(cases(), 7, 1));
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> all(12);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(order, all);
}

TEST(VisitOrder, differs_from_round_to_round_and_from_seed_to_seed) {
  EXPECT_NE(visit_order(cases(), 7, 1), visit_order(cases(), 7, 2));
  EXPECT_NE(visit_order(cases(), 7, 1), visit_order(cases(), 8, 1));
}

// The seed in a file means the same order everywhere.
TEST(VisitOrder, of_a_seed_is_this) {
  EXPECT_EQ(visit_order(cases(), 20261124, 1),
            (std::vector<std::size_t>{9, 10, 11, 8, 5, 7, 4, 6, 0, 2, 3, 1}));
}

TEST(VisitOrder, keeps_families_together) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(families_in(visit_order(cases(), seed, 1)).size(), 3U) << seed;
  }
}

TEST(VisitOrder, keeps_together_and_in_order_what_shares_a_graph) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto order = visit_order(cases(), seed, 3);
    for (const std::size_t first : {std::size_t{4}, std::size_t{5}}) {
      const auto at = std::find(order.begin(), order.end(), first);
      ASSERT_NE(at + 1, order.end()) << seed;
      EXPECT_EQ(*(at + 1), first + 2) << seed;
    }
  }
}

TEST(VisitOrder, keeps_together_what_cases_of_several_families_share) {
  auto all = cases();
  for (const std::size_t i : {0U, 3U, 8U, 11U}) {
    all[i].shares = i % 2 == 0 ? "two GPUs" : "four GPUs";
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto order = visit_order(all, seed, 1);
    std::string shared;
    for (const std::size_t i : order) {
      shared += all[i].shares.empty() ? '-' : all[i].shares.front();
    }
    EXPECT_TRUE(shared.find("ttff") != std::string::npos || shared.find("fftt") != std::string::npos)
        << shared;
  }
}

TEST(VisitOrder, of_nothing_is_nothing) {
  EXPECT_TRUE(visit_order({}, 1, 1).empty());
}

class Rounds : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return directory_ / "run"; }
  [[nodiscard]] std::vector<std::string> command(const std::string& visits) const {
    return {"--preset=smoke", "--benchmark_repetitions=" + visits, test::kFewCases,
            "--out=" + folder().string()};
  }

  // The process that `parent` has started, once it is there.
  [[nodiscard]] static pid_t started_by(pid_t parent) {
    const std::string pid = std::to_string(parent);
    const double deadline_s = steady_now_s() + 10;
    while (steady_now_s() < deadline_s) {
      std::istringstream children(test::read_text("/proc/" + pid + "/task/" + pid + "/children"));
      if (pid_t child = 0; children >> child) {
        return child;
      }
      usleep(500);
    }
    return 0;
  }

  [[nodiscard]] json whole_result() const {
    json result = test::read_result(folder());
    EXPECT_EQ(test::result_errors(result), "");
    return result;
  }

  TemporaryDirectory directory_;
};

TEST_F(Rounds, visit_every_case_as_often_as_asked) {
  const Ended ended = run_program(command("3"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  const json result = whole_result();
  EXPECT_EQ(result["context"]["run"]["complete"], true);
  ASSERT_EQ(result["benchmarks"].size(), 4U);
  for (const json& row : result["benchmarks"]) {
    ASSERT_EQ(row["visits"].size(), 3U);
    EXPECT_EQ(row["visits"][2]["round"], 3);
  }
}

TEST_F(Rounds, of_a_process_that_dies_end_the_run_with_1_and_go_on) {
  auto words = command("60");
  Child child = Child::program(words);
  const pid_t round = started_by(child.pid());
  ASSERT_GT(round, 0);
  kill(round, SIGKILL);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_TRUE(says(ended.err, "was ended by signal 9 (Killed)")) << ended.err;
  EXPECT_TRUE(says(ended.err, "go on with --resume")) << ended.err;
  EXPECT_EQ(whole_result()["context"]["run"]["complete"], false);
  const json failed = whole_result()["context"]["run"]["counts"]["failed"];  // a case, if one had begun
  const Ended resumed = run_program({"--resume=" + folder().string()});
  EXPECT_EQ(resumed.status, failed) << resumed.err;
  const json whole = whole_result();
  ASSERT_EQ(whole["benchmarks"].size(), 4U);
  EXPECT_EQ(whole["context"]["run"]["counts"]["failed"], failed);
  EXPECT_EQ(whole["benchmarks"][3].value("visits", json::array()).size(),
            whole["benchmarks"][3]["status"] == "ok" ? 60U : 0U);
}

// It may do so again: who is out of memory is killed each time.
TEST_F(Rounds, a_case_that_ends_its_process_fails_and_is_not_visited_again) {
  const std::vector<std::string> words{
      "--preset=quick", "--benchmark_repetitions=3",
      "--benchmark_filter=^host/(latency/.*4KiB/bytes:268435456|memcpy/.*flush:on/threads:1/bytes:65536)$",
      "--out=" + folder().string()};
  Child child = Child::program(words);
  // The large one is the only case whose process grows so much.
  const auto resident_pages = [](pid_t process) {
    std::istringstream words_of(test::read_text("/proc/" + std::to_string(process) + "/statm"));
    long all = 0;
    long resident = 0;
    words_of >> all >> resident;
    return resident;
  };
  const pid_t round = started_by(child.pid());
  ASSERT_GT(round, 0);
  const double deadline_s = steady_now_s() + 60;
  while (resident_pages(round) < 50'000 && steady_now_s() < deadline_s) {
    usleep(500);
  }
  kill(round, SIGKILL);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1) << ended.err;
  const Ended resumed = run_program({"--resume=" + folder().string()});
  EXPECT_EQ(resumed.status, 1) << resumed.err;
  const json whole = whole_result();
  EXPECT_EQ(whole["context"]["run"]["complete"], true);
  EXPECT_EQ(whole["context"]["run"]["counts"]["failed"], 1);
  for (const json& row : whole["benchmarks"]) {
    const bool large = row["case"]["family"] == "host/latency";
    EXPECT_EQ(row["status"], large ? "failed" : "ok") << row["name"];
    EXPECT_FALSE(row.contains("died"));
    if (large) {
      EXPECT_TRUE(says(row["reason"], "was ended by signal 9 (Killed)")) << row["reason"];
    } else {
      EXPECT_EQ(row["visits"].size(), 3U);
    }
  }
}

TEST_F(Rounds, of_a_process_that_somebody_ends_end_the_run_with_1) {
  Child child = Child::program(command("200"));
  const pid_t round = started_by(child.pid());
  ASSERT_GT(round, 0);
  const double deadline_s = steady_now_s() + 10;  // until it has begun, and catches signals
  while (test::read_text(folder() / "journal.jsonl").find("\"rows\"") == std::string::npos &&
         steady_now_s() < deadline_s) {
    usleep(1000);
  }
  kill(started_by(child.pid()), SIGTERM);
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, 1) << ended.err;
  EXPECT_EQ(whole_result()["context"]["run"]["complete"], false);
}

// The library compares repetitions with the first.
TEST_F(Rounds, may_fail_first_and_succeed_later) {
  ASSERT_EQ(run_program(command("3")).status, 0);
  const json whole = whole_result();
  const std::string name = whole["benchmarks"][1]["name"];
  Journal journal = read_journal(folder());
  std::string text;
  std::istringstream lines(journal.text);
  for (std::string line; std::getline(lines, line);) {
    json parsed = json::parse(line);
    parsed.erase("crc32");
    if (!parsed.contains("rows")) {
      text += journal_line(parsed);
      continue;
    }
    for (json& row : parsed["rows"]) {
      if (row["name"] == name && row.value("round", 0) == 1) {
        for (const char* key :
             {"median_s", "samples_s", "bytes", "bandwidth_gb_s", "mad_s", "p5_s", "p95_s"}) {
          row.erase(key);
        }
        row["status"] = "failed";
        row["reason"] = "wrong result: somebody says so";
        row["error_occurred"] = true;
        row["error_message"] = "failed: wrong result: somebody says so";
      }
    }
    text += journal_line(parsed);
  }
  test::write_text(folder() / "journal.jsonl", text);
  std::filesystem::remove(folder() / "result.json");
  for (const char* format : {"console", "json", "csv"}) {
    const Ended ended =
        run_program({"--resume=" + folder().string(), std::string("--benchmark_format=") + format});
    EXPECT_EQ(ended.status, 1) << ended.err;
  }
  const json result = whole_result();
  EXPECT_EQ(test::row_named(result, name)["status"], "failed");
  EXPECT_TRUE(says(test::row_named(result, name)["reason"], "somebody says so"));
  EXPECT_EQ(test::row_named(result, whole["benchmarks"][0]["name"]), whole["benchmarks"][0]);
}

TEST_F(Rounds, end_with_the_program_that_started_them) {
  Child child = Child::program(command("60"));
  const pid_t round = started_by(child.pid());
  ASSERT_GT(round, 0);
  child.send(SIGKILL);
  EXPECT_EQ(child.wait().signal, SIGKILL);
  const double deadline_s = steady_now_s() + 5;
  const auto runs = [&] {
    std::istringstream words(test::read_text("/proc/" + std::to_string(round) + "/stat"));
    std::string pid;
    std::string program;
    std::string state;
    words >> pid >> program >> state;
    return !state.empty() && state != "Z";
  };
  while (runs() && steady_now_s() < deadline_s) {
    usleep(1000);
  }
  EXPECT_FALSE(runs());
}

TEST_F(Rounds, are_not_started_by_hand) {
  const Ended ended = run_program({"visit", "--preset=smoke"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "is started by the program itself"));
}

class Repeated : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> command(const std::string& runs) const {
    return {
        "repeat",         runs,           "--out", directory_.path().string(), "--benchmark_repetitions=2",
        "--preset=smoke", test::kFewCases};
  }
  [[nodiscard]] json result(const std::string& run) const { return test::read_result(directory_ / run); }

  test::TemporaryDirectory directory_;
};

TEST_F(Repeated, runs_are_whole_and_each_its_own) {
  const Ended ended = run_program(command("2"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "run 2 of 2")) << ended.err;
  for (const std::string run : {"1", "2"}) {
    EXPECT_EQ(test::result_errors(result(run)), "");
    EXPECT_EQ(result(run)["benchmarks"][0]["visits"].size(), 2U);
  }
  EXPECT_NE(result("1")["context"]["run"]["id"], result("2")["context"]["run"]["id"]);
  EXPECT_NE(result("1")["context"]["run"]["seed"], result("2")["context"]["run"]["seed"]);
}

TEST_F(Repeated, runs_end_with_what_they_differ_by) {
  const Ended ended = run_program(command("2"));
  const std::size_t at = ended.out.find("2 runs differ by");
  ASSERT_NE(at, std::string::npos) << ended.out;
  EXPECT_TRUE(says(ended.out.substr(at), "host/memcpy")) << ended.out;
  EXPECT_FALSE(says(ended.out, "each run came to a case once"));
}

json run_of(const std::vector<double>& medians, int visits) {
  json rows = json::array();
  for (std::size_t i = 0; i < medians.size(); ++i) {
    rows.push_back({{"name", "host/memcpy/bytes:" + std::to_string(i)},
                    {"case", {{"family", "host/memcpy"}}},
                    {"status", "ok"},
                    {"label", "measured"},
                    {"median_s", medians[i]}});
  }
  return {{"context", {{"run", {{"visits", visits}}}}}, {"benchmarks", rows}};
}

TEST(Spread, is_the_largest_median_over_the_smallest) {
  const Screen screen{.width = 100};
  // The last row is not in all of them.
  const std::string text =
      spread_text({run_of({1, 1, 1}, 3), run_of({1.02, 1.5, 1, 9}, 3), run_of({1.01, 1, 1}, 3)}, screen);
  EXPECT_EQ(text,
            "\n3 runs differ by  rows  middle  most  in\n"
            "host/memcpy          3   2.0 %  50 %  bytes:1\n");
  EXPECT_EQ(spread_text({run_of({1}, 3), run_of({}, 3)}, screen), "");
}

TEST_F(Repeated, runs_that_are_there_are_gone_on_with) {
  EXPECT_EQ(run_program(command("2")).status, 0);
  const json first = result("1");
  EXPECT_EQ(run_program(command("3")).status, 0);
  EXPECT_EQ(result("1")["benchmarks"], first["benchmarks"]);
  EXPECT_EQ(result("3")["context"]["run"]["complete"], true);
}

TEST_F(Repeated, runs_whose_journals_are_gone_are_whole_all_the_same) {
  EXPECT_EQ(run_program(command("2")).status, 0);
  const json second = result("2");
  std::filesystem::remove(directory_ / "2/journal.jsonl");
  const Ended ended = run_program(command("2"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(result("2"), second);
  auto other = command("2");
  other.push_back("--min-bytes=128KiB");
  EXPECT_TRUE(says(run_program(other).err, "was asked for by other flags"));
}

TEST_F(Repeated, runs_that_are_not_complete_are_told_and_gone_on_with) {
  auto hurried = command("2");
  hurried.push_back("--max-time=0.000001");
  const Ended first = run_program(hurried);
  EXPECT_TRUE(says(first.err, "2 of 2 runs are not complete: the same command")) << first.err;
  EXPECT_FALSE(says(first.err, "--type-b"));
  // As a kill leaves a folder.
  std::filesystem::remove(directory_ / "1/result.json");
  test::write_text(directory_ / "1/journal.jsonl", "{\"journal");
  const Ended second = run_program(command("2"));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_FALSE(says(second.err, "not complete")) << second.err;
  // Whether they are a type B depends on how busy the host was.
  const std::string why = why_no_type_b({result("1"), result("2")});
  EXPECT_TRUE(says(second.err, why.empty() ? "--type-b" : why)) << second.err;
}

TEST_F(Repeated, runs_have_no_file_of_one_of_them) {
  auto one = command("2");
  one.push_back("--benchmark_out=" + (directory_ / "x.json").string());
  const Ended ended = run_program(one);
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "--benchmark_out is of one run")) << ended.err;
}

TEST_F(Repeated, runs_that_are_there_by_other_flags_are_refused) {
  EXPECT_EQ(run_program(command("2")).status, 0);
  auto other = command("2");
  other.push_back("--min-bytes=128KiB");
  const Ended ended = run_program(other);
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "was asked for by other flags")) << ended.err;
}

TEST_F(Repeated, runs_of_one_visit_are_refused_before_anything_is_measured) {
  const std::string folder = directory_.path().string();
  struct Once {
    std::vector<std::string> flags;
    std::string said;
  };
  for (const Once& once : {Once{{"--preset=smoke"}, "--preset=smoke comes once"},
                           Once{{"--preset", "paper"}, "--preset=paper comes once"},
                           Once{{"--benchmark_repetitions=1"}, "--benchmark_repetitions=1 comes once"}}) {
    std::vector<std::string> words = {"repeat", "2", "--out", folder, test::kFewCases};
    words.insert(words.end(), once.flags.begin(), once.flags.end());
    const Ended ended = run_program(words);
    EXPECT_EQ(ended.status, 2) << ended.err;
    EXPECT_TRUE(says(ended.err, once.said)) << ended.err;
    EXPECT_TRUE(says(ended.err, "--benchmark_repetitions=3")) << ended.err;
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  }
}

TEST_F(Repeated, runs_whose_visits_share_a_process_are_refused_before_anything_is_measured) {
  auto shared = command("2");
  shared.push_back("--one-process");
  const Ended ended = run_program(shared);
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_TRUE(says(ended.err, "leave out --one-process")) << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(Repeated, runs_without_a_measured_row_are_said_to_be_no_type_b) {
  const Ended ended =
      run_program({"repeat", "2", "--out", directory_.path().string(), "--benchmark_repetitions=2",
                   "--preset=smoke", "--benchmark_filter=^model/gather/.*pcie4x16"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(says(ended.err, "2 of 2 runs have no measured row")) << ended.err;
  EXPECT_TRUE(says(ended.err, "no type B")) << ended.err;
  EXPECT_FALSE(says(ended.err, "--type-b")) << ended.err;
}

// A run with a row of visits that are busy or not.
json visited(const std::vector<std::vector<bool>>& rows) {
  json run = run_of(std::vector<double>(rows.size(), 1.0), 3);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (const bool busy : rows[at]) {
      json visit = {{"median_s", 1.0}};
      if (busy) {
        visit["busy"] = true;
      }
      run["benchmarks"][at]["visits"].push_back(visit);
    }
  }
  return run;
}

TEST(WhyNoTypeB, says_nothing_of_two_runs_with_a_row_of_two_visits) {
  EXPECT_EQ(why_no_type_b({visited({{false}, {false, false}}), visited({{false, true, false}})}), "");
  // Of a row whose visits are all busy, all stand.
  EXPECT_EQ(why_no_type_b({visited({{true, true}}), visited({{true, true}}), visited({{false}})}), "");
}

TEST(WhyNoTypeB, counts_visits_whose_cpus_lay_near_each_other) {
  json run = visited({{false, false}});
  run["benchmarks"][0]["visits"][1]["far"] = true;
  EXPECT_TRUE(says(why_no_type_b({run, run}), "0 of 2 runs"));
}

TEST(WhyNoTypeB, counts_runs_of_whose_rows_one_visit_stands) {
  EXPECT_TRUE(says(why_no_type_b({visited({{false, true, true}}), visited({{false, false}})}),
                   "1 of 2 runs have a row of two visits that are neither busy nor far"));
  EXPECT_TRUE(says(why_no_type_b({visited({{false, true}}), visited({{true, false}, {false}})}),
                   "0 of 2 runs have a row of two visits that are neither busy nor far"));
}

TEST(WhyNoTypeB, is_that_a_run_has_no_measured_row) {
  json skipped = visited({{false, false}});
  skipped["benchmarks"][0]["status"] = "skipped";
  json modelled = visited({{false, false}});
  modelled["benchmarks"][0]["label"] = "modelled";
  const json sound = visited({{false, false}});
  for (const json& without : {skipped, modelled, json::object()}) {
    EXPECT_TRUE(says(why_no_type_b({sound, sound, without}), "1 of 3 runs have no measured row"));
  }
}

TEST_F(Repeated, runs_need_a_number_and_a_folder) {
  for (const std::string runs : {"1", "0", "-2", "many", "", "1000"}) {
    const Ended ended = run_program(command(runs));
    EXPECT_EQ(ended.status, 2) << runs;
    EXPECT_TRUE(says(ended.err, "2 to 100")) << ended.err;
  }
  const Ended nowhere = run_program({"repeat", "2", "--preset=smoke"});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_TRUE(says(nowhere.err, "--out DIR")) << nowhere.err;
  EXPECT_EQ(run_program({"repeat", "--help"}).status, 0);
}

}  // namespace
namespace {

// How an operation is measured: what is called, in which order, by whose numbers.

// Writes down what is asked of it. Samples take one second more each time.
class Written final : public Operation {
 public:
  explicit Written(std::string& calls, int trials = 0) : calls_(calls), trials_(trials) { calls_ += "new "; }
  ~Written() override { calls_ += "gone "; }
  void prepare() override { calls_ += "prepare "; }
  double run() override {
    calls_ += "run ";
    return ++runs_;
  }
  std::string verify() override {
    calls_ += "verify ";
    return "all of it";
  }
  [[nodiscard]] Timing timing() const override { return {Clock::steady, false, "nothing"}; }
  [[nodiscard]] int trials() const override { return trials_; }
  void run_counted() override { calls_ += "counted "; }
  void describe(Measurement& measurement) override {
    calls_ += "describe ";
    measurement.bytes = 512;
    measurement.limit = PhysicalLimit{1, "its own"};
  }

 private:
  std::string& calls_;
  int trials_;
  double runs_ = 0;
};

class Measuring : public testing::Test {
 protected:
  Measuring() : machine_(test::machine_without_gpu()) {}

  Machine machine_;
  LinkPeaks peaks_{machine_, [](const LinkPeak&, const std::vector<Warning>&) {}};
  Session session_{machine_, {.budget_s = 0, .warmups = 1},   peaks_, nullptr, [] { return false; }, nullptr,
                   nullptr,  [this] { calls_ += "sampled "; }};
  std::string calls_;
};

TEST_F(Measuring, refuses_trials_of_no_time) {
  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    LocalOperation operation({.run = [seconds] { return seconds; },
                              .verify = [] { return "all of it"; },
                              .timing = {Clock::steady, false, "nothing"},
                              .trials = 2});
    EXPECT_THROW(static_cast<void>(measure(session_, operation)), FailedError) << seconds;
  }
}

// Neighbours while it warms up, or from then on.
TEST_F(Measuring, counts_samples_beside_neighbours_and_no_warm_ups) {
  constexpr int kWarmUps = 3;
  for (const bool at_first : {true, false}) {
    int runs = 0;
    bool learnt = false;
    QuietCpu cpus([&](int) {
      const bool busy = std::exchange(learnt, true) && (runs < kWarmUps) == at_first;
      return busy ? 2.0 : 1.0;
    });
    const Session session(
        machine_, {.budget_s = 0, .warmups = kWarmUps}, peaks_, nullptr, [] { return false; }, nullptr,
        &cpus);
    LocalOperation operation({.run =
                                  [&] {
                                    ++runs;
                                    return 1e-3;
                                  },
                              .verify = [] { return "all of it"; },
                              .timing = {Clock::steady, false, "nothing"},
                              .on_callers_thread = true});
    const Measurement measurement = measure(session, operation);
    if (current_affinity().size() < 2) {
      EXPECT_FALSE(measurement.disturbed);
      continue;
    }
    ASSERT_TRUE(measurement.disturbed);
    EXPECT_EQ(*measurement.disturbed, at_first ? 0 : measurement.samples.seconds.size());
  }
}

TEST_F(Measuring, prepares_every_sample_then_verifies_and_lets_it_describe_itself) {
  Written operation(calls_);
  const Measurement measurement = measure(session_, operation);
  std::string expected = "new ";
  for (std::size_t i = 0; i < 1 + measurement.samples.seconds.size(); ++i) {
    expected += "prepare run ";
  }
  EXPECT_EQ(calls_, expected + "sampled verify describe ");
  EXPECT_EQ(measurement.samples.seconds.front(), 2) << "the first was warm-up";
  EXPECT_EQ(measurement.verification, "all of it");
  EXPECT_EQ(measurement.timing.timed, "nothing");
  EXPECT_EQ(measurement.bytes, 512U);
  EXPECT_EQ(measurement.limit->source, "its own");
}

// The sample is prepared as any other, and only where somebody counts. This one moves nothing anywhere.
TEST_F(Measuring, has_the_driver_count_what_is_read_of_managed_memory) {
  class Managed final : public Operation {
   public:
    explicit Managed(std::string& calls) : calls_(calls) {}
    void prepare() override { calls_ += "prepare "; }
    double run() override {
      calls_ += "run ";
      return 1;
    }
    std::string verify() override { return "all of it"; }
    [[nodiscard]] Timing timing() const override { return {Clock::steady, false, "nothing"}; }
    [[nodiscard]] int trials() const override { return 1; }
    void run_counted() override { calls_ += "counted "; }
    [[nodiscard]] bool reads_managed() const override { return true; }

   private:
    std::string& calls_;
  };
  Managed operation(calls_);
  const Measurement measurement = measure(session_, operation);
  std::string why_not;
  const bool counted = ManagedCounter::open(why_not) != nullptr;
  EXPECT_EQ(calls_, std::string("prepare run sampled ") + (counted ? "prepare counted " : ""));
  EXPECT_FALSE(measurement.counters.contains("driver_to_gpu_bytes"));
}

TEST_F(Measuring, takes_one_sample_of_each_trial) {
  Written operation(calls_, 3);
  const Measurement measurement = measure(session_, operation);
  EXPECT_EQ(calls_, "new prepare run prepare run prepare run sampled verify describe ");
  EXPECT_EQ(measurement.samples.seconds, (std::vector<double>{1, 2, 3}));
}

TEST_F(Measuring, makes_the_operation_anew_or_takes_one_that_others_share) {
  for (int visit = 0; visit < 2; ++visit) {
    calls_.clear();
    const Measurement anew = measure(session_, [&] { return std::make_unique<Written>(calls_, 1); });
    EXPECT_EQ(calls_, "new prepare run sampled verify describe gone ");
    EXPECT_EQ(anew.samples.seconds, std::vector<double>{1});
  }
  calls_.clear();
  Written operation(calls_, 1);
  EXPECT_EQ(measure(session_, operation).samples.seconds, std::vector<double>{1});
  EXPECT_EQ(measure(session_, operation).samples.seconds, std::vector<double>{2});
  EXPECT_EQ(calls_, "new prepare run sampled verify describe prepare run sampled verify describe ");
}

TEST_F(Measuring, by_a_limit_that_is_known_beside_the_operation) {
  Written operation(calls_, 1);
  EXPECT_EQ(measure(session_, operation, {.limit = PhysicalLimit{2, "a link"}}).limit->source, "a link");
}

TEST_F(Measuring, fails_where_the_operation_cannot_be_verified) {
  LocalOperation wrong({.run = [] { return 1.0; },
                        .verify = []() -> std::string { throw FailedError("wrong"); },
                        .timing = {}});
  EXPECT_THROW(static_cast<void>(measure(session_, wrong)), FailedError);
}

}  // namespace
}  // namespace grainscope::harness
