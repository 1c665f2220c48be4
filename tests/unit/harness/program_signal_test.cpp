// The program, stopped while it measures.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/sampler.hpp"
#include "schema_check.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;
using test::Child;
using test::Ended;
using test::run_program;
using test::TemporaryDirectory;

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
