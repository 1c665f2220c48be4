#include "harness/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "child.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

const auto kNever = [] { return false; };

// Locks of this test alone, whatever runs beside it.
class GpuLocks : public testing::Test {
 protected:
  void SetUp() override {
    const char* old = std::getenv("TMPDIR");
    old_ = old == nullptr ? "" : old;
    setenv("TMPDIR", directory_.path().c_str(), 1);
  }
  void TearDown() override { old_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old_.c_str(), 1); }

  test::TemporaryDirectory directory_;
  std::string old_;
};

TEST_F(GpuLocks, a_second_run_that_does_not_wait_is_told_who_holds_the_gpu) {
  const GpuLock held({"GPU-a"}, false, kNever);
  try {
    const GpuLock second({"GPU-a"}, false, kNever);
    FAIL() << "two runs hold one GPU";
  } catch (const EnvironmentError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("GPU-a"), std::string::npos) << message;
    EXPECT_NE(message.find("process id " + std::to_string(getpid())), std::string::npos) << message;
  }
}

TEST_F(GpuLocks, another_gpu_is_free) {
  const GpuLock held({"GPU-a"}, false, kNever);
  EXPECT_NO_THROW(GpuLock({"GPU-b"}, false, kNever));
}

TEST_F(GpuLocks, no_gpu_needs_no_lock) {
  const GpuLock none({}, false, kNever);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(GpuLocks, are_free_again_afterwards) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_NO_THROW(GpuLock({"GPU-a", "GPU-b"}, false, kNever));
  }
}

TEST_F(GpuLocks, one_that_is_taken_lets_go_of_the_others) {
  const GpuLock held({"GPU-b"}, false, kNever);
  EXPECT_THROW(GpuLock({"GPU-a", "GPU-b", "GPU-c"}, false, kNever), EnvironmentError);
  EXPECT_NO_THROW(GpuLock({"GPU-a", "GPU-c"}, false, kNever));
}

TEST_F(GpuLocks, a_wait_ends_when_the_run_is_interrupted) {
  const GpuLock held({"GPU-a"}, false, kNever);
  int asked = 0;
  EXPECT_THROW(GpuLock({"GPU-a"}, true, [&] { return ++asked == 2; }), Interrupted);
  EXPECT_EQ(asked, 2);
}

TEST_F(GpuLocks, a_wait_ends_when_the_holder_does) {
  std::optional<GpuLock> held;
  held.emplace(std::vector<std::string>{"GPU-a"}, false, kNever);
  bool waited = false;
  const GpuLock second({"GPU-a"}, true, [&] {
    waited = true;
    held.reset();
    return false;
  });
  EXPECT_TRUE(waited);
}

TEST_F(GpuLocks, a_killed_process_holds_nothing) {
  const auto ready = directory_ / "ready";
  {
    test::Child child = test::Child::of([&] {
      const GpuLock held({"GPU-a"}, false, kNever);
      test::write_text(ready, "");
      while (true) {
        pause();
      }
      return 0;
    });
    while (!std::filesystem::exists(ready)) {
      usleep(1000);
    }
    EXPECT_THROW(GpuLock({"GPU-a"}, false, kNever), EnvironmentError);
    child.send(SIGKILL);
    static_cast<void>(child.wait());
  }
  EXPECT_NO_THROW(GpuLock({"GPU-a"}, false, kNever));
}

TEST_F(GpuLocks, a_link_in_the_place_of_the_file_is_not_followed) {
  test::write_text(directory_ / "precious", "text");
  std::filesystem::create_symlink(directory_ / "precious", directory_ / "grainscope-GPU-a.lock");
  EXPECT_THROW(GpuLock({"GPU-a"}, false, kNever), EnvironmentError);
  EXPECT_EQ(test::read_text(directory_ / "precious"), "text");
}

}  // namespace
}  // namespace grainscope::harness
