#include <gtest/gtest.h>
#include <sched.h>

#include <map>
#include <vector>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/system/numa.hpp"
#include "machine_tree.hpp"

namespace grainscope {
namespace {

TEST(ReadConditions, tells_the_governor_and_clock_of_the_cpu_that_is_asked_for) {
  test::MachineTree tree;
  tree.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
  tree.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1200345\n");
  const Conditions found = read_conditions(3, nullptr, {}, tree.path());
  EXPECT_EQ(found.governor, "powersave");
  EXPECT_EQ(found.cpu_mhz, 1200);
  EXPECT_FALSE(found.gpu_sm_mhz);
}

TEST(ReadConditions, of_a_machine_that_tells_nothing_are_absent) {
  const test::MachineTree tree;
  const Conditions found = read_conditions(0, nullptr, {"GPU-zero"}, tree.path());
  EXPECT_FALSE(found.governor);
  EXPECT_FALSE(found.cpu_mhz);
  EXPECT_FALSE(found.throttle);
}

}  // namespace
namespace {

TEST(ConditionsTogether, are_the_worse_of_two_gpus_whichever_comes_first) {
  Conditions slow;
  slow.gpu_sm_mhz = 1000;
  slow.gpu_memory_mhz = 2600;
  slow.throttle = {"thermal", "power"};
  slow.link = NvmlLinkState{4, 8};
  slow.ecc_errors = 2;
  Conditions fast;
  fast.gpu_sm_mhz = 1980;
  fast.gpu_memory_mhz = 1500;
  fast.throttle = {"power"};
  fast.link = NvmlLinkState{3, 32};
  fast.ecc_errors = 5;
  for (const Conditions& both : {together(slow, fast), together(fast, slow)}) {
    EXPECT_EQ(both.gpu_sm_mhz, 1000);
    EXPECT_EQ(both.gpu_memory_mhz, 1500);
    EXPECT_EQ(both.throttle->size(), 2U);
    EXPECT_EQ(both.link->generation, 4) << "the slower, though not the older";
    EXPECT_EQ(both.ecc_errors, 7U);
  }
  EXPECT_EQ(together(slow, {}).gpu_sm_mhz, 1000);
  EXPECT_EQ(together({}, slow).link->width, 8);
}

// CPUs that take so long for the probe, and what was asked of them.
class QuietCpuChoice : public testing::Test {
 protected:
  void SetUp() override {
    cpus_ = current_affinity();
    if (cpus_.size() < 2) {
      GTEST_SKIP() << "one CPU leaves no choice";
    }
    for (const int cpu : cpus_) {
      seconds_[cpu] = 1;
    }
  }

  QuietCpu choice_ = QuietCpu([this](int cpu) {
    asked_.push_back(cpu);
    return seconds_.at(cpu);
  });
  std::vector<int> cpus_;
  std::map<int, double> seconds_;
  std::vector<int> asked_;
};

TEST_F(QuietCpuChoice, stays_where_it_is_quiet_and_asks_no_other) {
  const int here = cpus_.back();
  ASSERT_TRUE(choice_.choose(here)->quiet);  // learns what quiet is
  asked_.clear();
  const auto choice = choice_.choose(here);
  EXPECT_EQ(choice->cpu, here);
  EXPECT_TRUE(choice->quiet);
  EXPECT_EQ(asked_, std::vector{here});
}

TEST_F(QuietCpuChoice, leaves_a_cpu_with_a_neighbour) {
  static_cast<void>(choice_.choose(cpus_[0]));
  seconds_[cpus_[0]] = 1.25;
  const auto choice = choice_.choose(cpus_[0]);
  EXPECT_EQ(choice->cpu, cpus_[1]);
  EXPECT_TRUE(choice->quiet);
}

TEST_F(QuietCpuChoice, takes_the_least_busy_and_says_so) {
  static_cast<void>(choice_.choose(cpus_[0]));
  for (const int cpu : cpus_) {
    seconds_[cpu] = 2;
  }
  seconds_[cpus_[1]] = 1.5;
  const auto choice = choice_.choose(cpus_[0]);
  EXPECT_EQ(choice->cpu, cpus_[1]);
  EXPECT_FALSE(choice->quiet);
}

TEST_F(QuietCpuChoice, does_not_take_the_first_time_for_quiet) {
  seconds_[cpus_[0]] = 1.3;
  EXPECT_EQ(choice_.choose(cpus_[0])->cpu, cpus_[1]);
}

TEST(QuietCpu, leaves_no_choice_of_one_cpu) {
  const OnCpu there(sched_getcpu());
  EXPECT_EQ(QuietCpu().choose(sched_getcpu()).has_value(), false);
}

TEST(QuietCpu, probes_the_machine_and_leaves_the_thread_as_it_was) {
  const std::vector<int> cpus = current_affinity();
  const auto choice = QuietCpu().choose(sched_getcpu());
  EXPECT_EQ(choice.has_value(), cpus.size() > 1);
  EXPECT_EQ(current_affinity(), cpus);
}

}  // namespace
namespace {

constexpr const char* kStat =
    "cpu  541040 0 111604 1718443 594 0 1292 56693 0 0\n"
    "cpu0 33815 0 6975 107402 37 0 80 3543 0 0\n"
    "cpu1 33815 0 6975 107402 37 0 80 250 0 0\n"
    "cpu10 33815 0 6975 107402 37 0 80 7 0 0\n"
    "cpu11 33815 0 6975 107402 37\n"
    "intr 12 0 0\n";

TEST(StolenTime, is_that_of_the_cpus_asked_for) {
  test::MachineTree tree;
  tree.file("proc/stat", kStat);
  EXPECT_EQ(stolen_s({0, 1}, tree.path()), 37.93);
  EXPECT_EQ(stolen_s({1}, tree.path()), 2.5);
  EXPECT_EQ(stolen_s({10}, tree.path()), 0.07);
  EXPECT_EQ(stolen_s({}, tree.path()), 0);
}

TEST(StolenTime, is_unknown_where_the_kernel_says_nothing) {
  test::MachineTree tree;
  EXPECT_EQ(stolen_s({0}, tree.path()), std::nullopt);
  tree.file("proc/stat", kStat);
  EXPECT_EQ(stolen_s({2}, tree.path()), std::nullopt);   // no such line
  EXPECT_EQ(stolen_s({11}, tree.path()), std::nullopt);  // a kernel that counts less
  tree.file("proc/stat", "cpu 1 2 x");
  EXPECT_EQ(stolen_s({0}, tree.path()), std::nullopt);
}

TEST(StolenTime, of_this_machine_is_known_and_never_goes_back) {
  const auto before = stolen_s(current_affinity());
  const auto after = stolen_s(current_affinity());
  ASSERT_TRUE(before && after);
  EXPECT_GE(*before, 0);
  EXPECT_GE(*after, *before);
}

}  // namespace
}  // namespace grainscope
