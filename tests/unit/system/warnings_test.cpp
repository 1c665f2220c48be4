#include "grainscope/system/warnings.hpp"

#include <gtest/gtest.h>

#include "warned_machine.hpp"

namespace grainscope {
namespace {

using test::contains;
using test::find;

class HostWarnings : public test::Warnings {};

TEST_F(HostWarnings, a_machine_in_order_has_none) {
  for (const Warning& warning : warnings()) {
    ADD_FAILURE() << warning.id << ": " << warning.finding;
  }
}

TEST_F(HostWarnings, a_governor_other_than_performance) {
  tree_.frequency_policy(2, "intel_pstate", "powersave");
  const Warning found = expect("cpu.governor", Severity::warning);
  EXPECT_TRUE(contains(found.finding, "powersave on CPUs 2")) << found.finding;
  EXPECT_EQ(found.remedy, "sudo cpupower frequency-set --governor performance");
}

TEST_F(HostWarnings, frequency_scaling_that_is_not_exposed_is_unknown_and_not_in_order) {
  tree_.remove("sys/devices/system/cpu/cpufreq");
  EXPECT_TRUE(contains(expect("cpu.governor_unknown", Severity::info).finding, "unknown (not exposed)"));
  EXPECT_EQ(find(warnings(), "cpu.governor"), nullptr);
}

TEST_F(HostWarnings, an_unreadable_governor_is_unknown) {
  tree_.remove("sys/devices/system/cpu/cpufreq/policy5/scaling_governor");
  EXPECT_TRUE(contains(expect("cpu.governor_unknown", Severity::info).finding, "of CPUs 5"));
}

TEST_F(HostWarnings, capped_frequency) {
  tree_.file("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000");
  EXPECT_TRUE(contains(expect("cpu.frequency_cap", Severity::warning).finding, "2.00 GHz of 3.50 GHz"));
}

TEST_F(HostWarnings, boost_is_a_note) {
  tree_.file("sys/devices/system/cpu/cpufreq/boost", "1");
  EXPECT_TRUE(contains(expect("cpu.boost", Severity::info).remedy, "cpufreq/boost"));
}

TEST_F(HostWarnings, numa_balancing_matters_with_several_nodes_only) {
  tree_.file("proc/sys/kernel/numa_balancing", "1");
  EXPECT_TRUE(contains(expect("memory.numa_balancing", Severity::warning).remedy, "numa_balancing"));
  tree_.remove("sys/devices/system/node/node1");
  EXPECT_EQ(find(warnings(), "memory.numa_balancing"), nullptr);
}

TEST_F(HostWarnings, transparent_huge_pages_never_and_always_are_notes) {
  for (const char* mode : {"always madvise [never]", "[always] madvise never"}) {
    tree_.file("sys/kernel/mm/transparent_hugepage/enabled", mode);
    expect("memory.transparent_huge", Severity::info);
  }
}

TEST_F(HostWarnings, unknown_nodes_are_a_note) {
  tree_.remove("sys/devices/system/node");
  expect("memory.nodes_unknown", Severity::info);
}

TEST_F(HostWarnings, load_is_judged_by_the_allowed_cpus) {
  tree_.file("proc/loadavg", "3.0 3.0 3.0 1/1 1");
  EXPECT_EQ(find(warnings(), "load.average"), nullptr) << "3 of 8 CPUs";
  tree_.file("proc/self/status", "Cpus_allowed_list:\t4-5\nMems_allowed_list:\t0-1");
  EXPECT_TRUE(contains(expect("load.average", Severity::warning).finding, "2 allowed CPUs"));
}

TEST_F(HostWarnings, pressure) {
  tree_.file("proc/pressure/cpu", "some avg10=40.00 avg60=0 total=0");
  tree_.file("proc/pressure/memory", "full avg10=5.00 avg60=0 total=0");
  expect("load.cpu_pressure", Severity::warning);
  expect("load.memory_pressure", Severity::warning);
}

TEST_F(HostWarnings, a_cpu_quota_below_the_allowed_cpus) {
  tree_.file("sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_TRUE(contains(expect("cpu.quota", Severity::warning).finding, "1.50 CPUs"));
  tree_.file("sys/fs/cgroup/cpu.max", "800000 100000");
  EXPECT_EQ(find(warnings(), "cpu.quota"), nullptr);
}

TEST_F(HostWarnings, a_mask_of_cpus) {
  EXPECT_EQ(find(warnings(), "cpu.mask"), nullptr);
  tree_.file("proc/self/status", "Cpus_allowed_list:\t0,2-3\nMems_allowed_list:\t0\n");
  EXPECT_TRUE(contains(expect("cpu.mask", Severity::warning).finding, "3 of 8 CPUs: 0,2-3"));
}

TEST_F(HostWarnings, limits_of_memory) {
  tree_.file("sys/fs/cgroup/memory.max", "1073741824");
  tree_.file("proc/self/limits", "Max locked memory  65536  65536  bytes");
  expect("memory.cgroup_limit", Severity::info);
  EXPECT_TRUE(contains(expect("memory.memlock", Severity::info).finding, "64 KiB"));
}

TEST_F(HostWarnings, a_virtual_machine) {
  tree_.file("proc/cpuinfo", "flags : hypervisor");
  expect("kernel.virtual_machine", Severity::warning);
}

TEST_F(HostWarnings, a_slow_clock_source_names_the_remedy_that_fits) {
  const std::string clock = "sys/devices/system/clocksource/clocksource0/";
  tree_.file(clock + "current_clocksource", "hpet");
  EXPECT_TRUE(contains(expect("kernel.clock_source", Severity::warning).remedy, "echo tsc"));
  tree_.file(clock + "available_clocksource", "hpet acpi_pm");
  EXPECT_TRUE(contains(expect("kernel.clock_source", Severity::warning).remedy, "dmesg"));
  tree_.file(clock + "current_clocksource", "arch_sys_counter");
  EXPECT_EQ(find(warnings(), "kernel.clock_source"), nullptr);
}

TEST_F(HostWarnings, an_iommu_that_translates_for_a_gpu) {
  tree_.file("sys/bus/pci/devices/0000:81:00.0/iommu_group/type", "DMA-FQ");
  EXPECT_TRUE(contains(expect("kernel.iommu", Severity::warning).finding, "0000:81:00.0"));
}

TEST_F(HostWarnings, no_driver_is_a_note_with_its_reason) {
  runtime_ = {};
  runtime_.why_none = "no NVIDIA driver";
  nvml_ = {};
  nvml_.why_none = "no library";
  EXPECT_TRUE(contains(expect("driver.no_cuda", Severity::info).finding, "no NVIDIA driver"));
  expect("driver.no_nvml", Severity::info);
}

TEST_F(HostWarnings, unknown_values_warn_of_nothing) {
  nvml_.devices[0] = NvmlDevice{};
  nvml_.devices[0].uuid = runtime_.devices[0].uuid;
  nvml_.confidential_computing = std::nullopt;
  for (const Warning& warning : warnings()) {
    ADD_FAILURE() << warning.id << ": " << warning.finding;
  }
}

TEST_F(HostWarnings, the_severe_come_first) {
  gpu().pcie_replays = 1;
  gpu().compute_mode = "prohibited";
  gpu().ecc = false;
  tree_.frequency_policy(2, "x", "powersave");
  const auto all = warnings();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].id, "gpu.compute_mode");
  EXPECT_EQ(all[3].id, "gpu.ecc");
}

TEST_F(HostWarnings, each_has_an_effect_and_a_remedy) {
  tree_.frequency_policy(2, "x", "powersave").file("proc/cpuinfo", "flags : hypervisor");
  gpu().link_width = 4;
  gpu().mig = true;
  for (const Warning& warning : warnings()) {
    EXPECT_FALSE(warning.id.empty() || warning.finding.empty() || warning.effect.empty() ||
                 warning.remedy.empty());
  }
}

}  // namespace
}  // namespace grainscope
