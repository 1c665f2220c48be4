#include "grainscope/system/conditions.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <map>
#include <vector>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope {
namespace {

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
}  // namespace grainscope
