#include "grainscope/system/conditions.hpp"

#include <gtest/gtest.h>

#include "machine_tree.hpp"

namespace grainscope {
namespace {

TEST(ReadConditions, tells_the_governor_and_clock_of_the_cpu_that_is_asked_for) {
  test::MachineTree tree;
  tree.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
  tree.file("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1200345\n");
  const Conditions found = read_conditions(3, nullptr, "", tree.path());
  EXPECT_EQ(found.governor, "powersave");
  EXPECT_EQ(found.cpu_mhz, 1200);
  EXPECT_FALSE(found.gpu_sm_mhz);
}

TEST(ReadConditions, of_a_machine_that_tells_nothing_are_absent) {
  const test::MachineTree tree;
  const Conditions found = read_conditions(0, nullptr, "GPU-zero", tree.path());
  EXPECT_FALSE(found.governor);
  EXPECT_FALSE(found.cpu_mhz);
  EXPECT_FALSE(found.throttle);
}

}  // namespace
}  // namespace grainscope
