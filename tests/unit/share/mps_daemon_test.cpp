// The daemon's launcher against a daemon that is a script: whatever ends the program, nothing is left.

#include "grainscope/system/mps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

using test::Child;
using test::TemporaryDirectory;

bool within(double seconds, const std::function<bool()>& holds) {
  const double deadline_s = steady_now_s() + seconds;
  while (!holds()) {
    if (steady_now_s() > deadline_s) {
      return false;
    }
    usleep(5000);
  }
  return true;
}

// A zombie that nobody has reaped yet runs no more.
bool is_gone(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) {
    return true;
  }
  return test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
}

class Mps : public testing::Test {
 protected:
  void SetUp() override {
    setenv("FAKE_MPS_PIDS", pids_file().c_str(), 1);
    setenv("FAKE_MPS_MODE", "", 1);
  }

  [[nodiscard]] std::filesystem::path pids_file() const { return directory_ / "pids"; }
  [[nodiscard]] std::filesystem::path beside() const { return directory_ / "beside"; }

  [[nodiscard]] MpsRequest request() const {
    std::filesystem::create_directory(beside());
    return {.control = GRAINSCOPE_FAKE_MPS,
            .program = GRAINSCOPE_PROGRAM,
            .gpu = "GPU-1",
            .beside = beside(),
            .patience_s = 4};
  }

  // All that the fake has started.
  [[nodiscard]] std::vector<pid_t> started() const {
    std::istringstream text(test::read_text(pids_file()));
    std::vector<pid_t> pids;
    for (pid_t pid = 0; text >> pid;) {
      pids.push_back(pid);
    }
    return pids;
  }

  void expect_nothing_left(std::size_t processes) const {
    EXPECT_EQ(started().size(), processes);
    for (const pid_t pid : started()) {
      EXPECT_TRUE(within(10, [&] { return is_gone(pid); })) << pid << " still runs";
    }
    EXPECT_TRUE(within(10, [&] { return std::filesystem::is_empty(beside()); })) << "a directory is left";
  }

  // A process that starts a daemon, and is ended by a signal while that runs.
  void expect_nothing_left_after(int signal) const {
    const std::filesystem::path told = directory_ / "told";
    Child parent = Child::of([&] {
      const MpsDaemon daemon(request());
      test::write_text(told, std::to_string(daemon.guard_pid()) + " ");
      pause();
      return 0;
    });
    ASSERT_TRUE(within(10, [&] { return test::read_text(told).ends_with(' '); }));
    EXPECT_FALSE(std::filesystem::is_empty(beside()));
    parent.send(signal);
    EXPECT_EQ(parent.wait().signal, signal);
    expect_nothing_left(2);
    const pid_t guard = std::atoi(test::read_text(told).c_str());
    EXPECT_TRUE(within(10, [&] { return is_gone(guard); }));
  }

  void expect_refused(const std::string& words) const {
    try {
      const MpsDaemon daemon(request());
      FAIL() << "it started";
    } catch (const SkipError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(Mps, starts_in_a_directory_of_its_own_and_goes_without_a_trace) {
  {
    const MpsDaemon daemon(request());
    EXPECT_EQ(daemon.directory().parent_path(), beside());
    EXPECT_EQ(daemon.client_variables().at(0).second, (daemon.directory() / "pipe").string());
    EXPECT_EQ(test::read_text(daemon.directory() / "log" / "gpus.txt"), "GPU-1\n");
    for (const pid_t pid : started()) {
      EXPECT_FALSE(is_gone(pid));
    }
  }
  expect_nothing_left(2);
}

TEST_F(Mps, two_daemons_do_not_meet) {
  MpsDaemon one(request());
  {
    const MpsDaemon two(request());
    EXPECT_NE(one.directory(), two.directory());
  }
  EXPECT_TRUE(std::filesystem::exists(one.directory() / "pipe" / "control"));
  one.stop();
  expect_nothing_left(4);
}

TEST_F(Mps, is_gone_after_sigterm_of_the_parent) {
  expect_nothing_left_after(SIGTERM);
}

TEST_F(Mps, is_gone_after_sigkill_of_the_parent) {
  expect_nothing_left_after(SIGKILL);
}

TEST_F(Mps, is_gone_after_sigterm_of_the_guard) {
  const MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGTERM);
  expect_nothing_left(2);
}

TEST_F(Mps, is_gone_after_sigkill_of_the_guard_and_a_stop) {
  MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGKILL);
  usleep(100000);
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, ctrl_c_leaves_the_guard_to_its_parent) {
  MpsDaemon daemon(request());
  kill(daemon.guard_pid(), SIGINT);
  usleep(100000);
  EXPECT_TRUE(std::filesystem::exists(daemon.directory() / "pipe"));
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_ends_early_leaves_nothing_either) {
  MpsDaemon daemon(request());
  ASSERT_EQ(started().size(), 2U);
  kill(started().front(), SIGKILL);
  daemon.stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_server_that_outlives_its_daemon_is_ended) {
  setenv("FAKE_MPS_MODE", "leaves_its_server", 1);
  MpsDaemon(request()).stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_does_not_quit_is_ended) {
  setenv("FAKE_MPS_MODE", "stays", 1);
  MpsDaemon(request()).stop();
  expect_nothing_left(2);
}

TEST_F(Mps, a_daemon_that_cannot_start_says_why) {
  setenv("FAKE_MPS_MODE", "refuses", 1);
  expect_refused("ended with status 3: Cannot create a pipe for reasons of its own");
  expect_nothing_left(0);
}

TEST_F(Mps, a_daemon_that_never_returns_is_given_up) {
  setenv("FAKE_MPS_MODE", "hangs", 1);
  expect_refused("did not return");
  expect_nothing_left(0);
}

TEST_F(Mps, without_the_driver_s_program_is_no_error) {
  MpsRequest other = request();
  other.control = "no-such-mps-control";
  try {
    const MpsDaemon daemon(other);
    FAIL() << "it started";
  } catch (const SkipError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-mps-control is not in PATH"), std::string::npos);
  }
  expect_nothing_left(0);
}

TEST_F(Mps, a_path_too_long_for_sockets_is_told_before_anything_starts) {
  MpsRequest other = request();
  other.beside = beside() / std::string(90, 'x');
  std::filesystem::create_directory(other.beside);
  EXPECT_THROW(MpsDaemon{other}, SkipError);
  EXPECT_TRUE(within(10, [&] { return std::filesystem::is_empty(other.beside); }));
}

TEST_F(Mps, the_guard_is_not_for_users) {
  const test::Ended ended = test::run_program({kMpsGuardCommand});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("started by the program itself"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace grainscope
