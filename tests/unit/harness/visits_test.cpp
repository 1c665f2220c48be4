// In which order a run comes to its cases, and what becomes of the processes that it starts.

#include "harness/visits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/sampler.hpp"
#include "says.hpp"
#include "schema_check.hpp"

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
  const Ended resumed = run_program({"--resume=" + folder().string()});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const json whole = whole_result();
  ASSERT_EQ(whole["benchmarks"].size(), 4U);
  EXPECT_EQ(whole["benchmarks"][0]["visits"].size(), 60U);
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

TEST_F(Repeated, runs_that_are_there_are_gone_on_with) {
  EXPECT_EQ(run_program(command("2")).status, 0);
  const json first = result("1");
  EXPECT_EQ(run_program(command("3")).status, 0);
  EXPECT_EQ(result("1")["benchmarks"], first["benchmarks"]);
  EXPECT_EQ(result("3")["context"]["run"]["complete"], true);
}

TEST_F(Repeated, runs_that_are_there_by_other_flags_are_refused) {
  EXPECT_EQ(run_program(command("2")).status, 0);
  auto other = command("2");
  other.push_back("--min-bytes=128KiB");
  const Ended ended = run_program(other);
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(says(ended.err, "was asked for by other flags")) << ended.err;
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
}  // namespace grainscope::harness
