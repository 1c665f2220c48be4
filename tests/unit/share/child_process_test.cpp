#include "grainscope/system/child_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope {
namespace {

ChildRequest shell(const std::string& script) {
  return {.words = {"sh", "-c", script}};
}

TEST(ChildProcesses, are_spoken_to_line_by_line) {
  ChildProcess child(shell("while read -r word; do echo \"heard $word\"; done; echo end"));
  EXPECT_TRUE(child.write_line("one"));
  EXPECT_EQ(child.read_line(5), "heard one");
  EXPECT_TRUE(child.write_line("two"));
  EXPECT_TRUE(child.write_line("three"));
  EXPECT_EQ(child.read_line(5), "heard two");
  EXPECT_EQ(child.read_line(5), "heard three");
  child.close_input();
  EXPECT_EQ(child.read_line(5), "end");
  EXPECT_EQ(child.read_line(5), std::nullopt);
  EXPECT_TRUE(child.wait(5)->well());
}

TEST(ChildProcesses, tell_how_they_ended) {
  ChildProcess three(shell("exit 3"));
  EXPECT_EQ(to_string(*three.wait(5)), "ended with status 3");
  ChildProcess killed(shell("kill -9 $$"));
  EXPECT_EQ(to_string(*killed.wait(5)), "was ended by signal 9 (Killed)");
}

TEST(ChildProcesses, that_are_not_there_are_an_error_with_their_name) {
  try {
    const ChildProcess child({.words = {"no-such-program"}});
    FAIL() << "it started";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(std::string(error.what()), "could not start no-such-program: there is no such program");
  }
  EXPECT_THROW(ChildProcess({.words = {"/etc/passwd"}}), EnvironmentError);
}

TEST(ChildProcesses, that_exec_refuses_are_an_error_too) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path file = directory / "no-program";
  test::write_text(file, "neither script nor program");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  EXPECT_THROW(ChildProcess({.words = {file.string()}}), EnvironmentError);
}

TEST(ChildProcesses, have_the_environment_that_was_asked_for) {
  setenv("GRAINSCOPE_TEST_OLD", "old", 1);
  ChildRequest request = shell("echo \"$GRAINSCOPE_TEST_NEW-${GRAINSCOPE_TEST_OLD:-none}-${HOME:+home}\"");
  request.set = {{"GRAINSCOPE_TEST_NEW", "new"}};
  request.unset = {"GRAINSCOPE_TEST_OLD"};
  setenv("HOME", "/", 1);
  EXPECT_EQ(ChildProcess(request).read_line(5), "new-none-home");
}

TEST(ChildProcesses, that_say_nothing_are_not_waited_for_for_ever) {
  ChildProcess child(shell("exec sleep 1000"));
  EXPECT_THROW(static_cast<void>(child.read_line(0.05)), FailedError);
  EXPECT_EQ(child.wait(0.05), std::nullopt);
}

TEST(ChildProcesses, that_do_not_read_are_no_signal) {
  ChildProcess child(shell("exit 0"));
  EXPECT_TRUE(child.wait(5));
  child.write_line("into nothing");
  EXPECT_FALSE(child.write_line("again"));
}

TEST(ChildProcesses, end_with_their_owner) {
  pid_t pid = 0;
  const double start_s = steady_now_s();
  {
    const ChildProcess child(shell("trap '' TERM; while :; do sleep 0.1; done"));
    pid = child.pid();
  }
  EXPECT_LT(steady_now_s() - start_s, 4);
  EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH);
}

TEST(ChildProcesses, end_with_a_parent_that_is_killed) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path told = directory / "pid";
  test::Child parent = test::Child::of([&] {
    const ChildProcess child(shell("exec sleep 1000"));
    test::write_text(told, std::to_string(child.pid()) + " ");
    pause();
    return 0;
  });
  const double deadline_s = steady_now_s() + 10;
  while (!test::read_text(told).ends_with(' ') && steady_now_s() < deadline_s) {
    usleep(5000);
  }
  parent.send(SIGKILL);
  EXPECT_EQ(parent.wait().signal, SIGKILL);
  const pid_t pid = std::atoi(test::read_text(told).c_str());
  ASSERT_GT(pid, 1);
  const auto runs = [&] {
    const std::string stat = test::read_text("/proc/" + std::to_string(pid) + "/stat");
    return !stat.empty() && stat.find(") Z ") == std::string::npos;
  };
  while (runs() && steady_now_s() < deadline_s) {
    usleep(5000);
  }
  EXPECT_FALSE(runs());
}

TEST(ChildProcesses, write_to_a_file_where_one_is_named) {
  const test::TemporaryDirectory directory;
  ChildRequest request = shell("echo out; echo err >&2");
  request.output = directory / "said";
  EXPECT_TRUE(ChildProcess(request).wait(5)->well());
  EXPECT_EQ(test::read_text(request.output), "out\nerr\n");
}

}  // namespace
}  // namespace grainscope
