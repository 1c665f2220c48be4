// What of a machine disturbs measuring, as found and as it is said.

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "../../testing/says.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/warnings.hpp"
#include "machine_tree.hpp"
#include "nvml_report.hpp"

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

#if defined(__x86_64__)
TEST(CpuClock, is_measured_where_nothing_tells_it) {
  const auto found = measured_cpu_mhz();
  ASSERT_TRUE(found);
  EXPECT_GT(*found, 300);
  EXPECT_LT(*found, 7000) << "a processor that does several of these additions a cycle";
}

// A multiplication waits three cycles for the one before, on x86-64 servers since Nehalem and Zen.
TEST(CpuClock, is_what_multiplications_tell) {
  constexpr int kTurns = 3000;
  constexpr int kCycles = 8 * 3;  // a turn
  int by_multiplying = 0, found = 0;
  for (int i = 0; i < 50; ++i) {  // the fastest, whatever else runs
    std::uint64_t product = 1;
    const std::uint64_t factor = 3;
    const double start_s = steady_now_s();
    for (int turn = 0; turn < kTurns; ++turn) {
      asm volatile(".rept 8\n\timul %1, %0\n\t.endr" : "+&r"(product) : "r"(factor));
    }
    const double mhz = 1e-6 * kTurns * kCycles / (steady_now_s() - start_s);
    by_multiplying = std::max(by_multiplying, static_cast<int>(mhz));
    found = std::max(found, *measured_cpu_mhz());
  }
  EXPECT_NEAR(found, by_multiplying, 0.1 * found);
}
#endif

TEST(CacheLine, goes_from_one_cpu_to_another_within_its_limits) {
  const std::vector<int> before = current_affinity();
  if (before.size() < 2) {
    GTEST_SKIP() << "one CPU";
  }
  // Others may work on these CPUs, beside tests too.
  std::optional<double> found;
  for (int attempt = 0; attempt < 50 && !found; ++attempt) {
    found = cache_line_ns({before[0], before[1]});
  }
  ASSERT_TRUE(found);
  EXPECT_GT(*found, 2);  // no core hands a line over in less
  EXPECT_LT(*found, 20e3);
  EXPECT_EQ(current_affinity(), before);
}

TEST(CacheLine, needs_two_cpus) {
  EXPECT_FALSE(cache_line_ns({}));
  EXPECT_FALSE(cache_line_ns({0}));
}

// Two threads of one CPU take turns only when the kernel lets them: nobody waits for long.
TEST(CacheLine, is_given_up_where_nobody_answers_in_time) {
  const int cpu = current_affinity().front();
  const double start_s = steady_now_s();
  const auto found = cache_line_ns({cpu, cpu});
  EXPECT_LT(steady_now_s() - start_s, 1);
  EXPECT_FALSE(found) << *found;
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

// A machine in order, of which a test spoils one thing and looks for the finding.

namespace grainscope::test {

inline const Warning* find(const std::vector<Warning>& warnings, const std::string& id) {
  const auto found = std::find_if(warnings.begin(), warnings.end(),
                                  [&](const Warning& warning) { return warning.id == id; });
  return found == warnings.end() ? nullptr : &*found;
}

// Two sockets with one H100, all as it should be; a test spoils one thing.
class Warnings : public testing::Test {
 protected:
  Warnings() {
    write_two_sockets(tree_);
    cuda::DeviceProperties device;
    device.name = "NVIDIA H100 80GB HBM3";
    device.uuid = *nvml_.devices[0].uuid;
    device.pci_bus_id = "0000:81:00.0";
    runtime_.devices = {device};
  }
  [[nodiscard]] Environment environment() const {
    return read_environment(tree_.roots(), Topology::read(tree_.roots()), runtime_, nvml_);
  }
  [[nodiscard]] std::vector<Warning> warnings() const { return find_warnings(environment()); }
  // The finding with this id, which must be of this severity; an empty one when it is missing.
  Warning expect(const std::string& id, Severity severity) const {
    const auto all = warnings();
    const Warning* found = find(all, id);
    EXPECT_NE(found, nullptr) << id;
    if (found == nullptr) {
      return {};
    }
    EXPECT_EQ(found->severity, severity);
    return *found;
  }
  NvmlDevice& gpu() { return nvml_.devices[0]; }

  MachineTree tree_;
  NvmlReport nvml_ = h100();
  cuda::RuntimeReport runtime_;
};

}  // namespace grainscope::test

namespace grainscope {
namespace {

using test::find;
using test::says;

class HostWarnings : public test::Warnings {};

TEST_F(HostWarnings, a_machine_in_order_has_none) {
  for (const Warning& warning : warnings()) {
    ADD_FAILURE() << warning.id << ": " << warning.finding;
  }
}

TEST_F(HostWarnings, a_governor_other_than_performance) {
  tree_.frequency_policy(2, "intel_pstate", "powersave");
  const Warning found = expect("cpu.governor", Severity::warning);
  EXPECT_TRUE(says(found.finding, "powersave on CPUs 2")) << found.finding;
  EXPECT_EQ(found.remedy, "sudo cpupower frequency-set --governor performance");
}

TEST_F(HostWarnings, frequency_scaling_that_is_not_exposed_is_unknown_and_not_in_order) {
  tree_.remove("sys/devices/system/cpu/cpufreq");
  EXPECT_TRUE(says(expect("cpu.governor_unknown", Severity::info).finding, "unknown (not exposed)"));
  EXPECT_EQ(find(warnings(), "cpu.governor"), nullptr);
}

TEST_F(HostWarnings, an_unreadable_governor_is_unknown) {
  tree_.remove("sys/devices/system/cpu/cpufreq/policy5/scaling_governor");
  EXPECT_TRUE(says(expect("cpu.governor_unknown", Severity::info).finding, "of CPUs 5"));
}

TEST_F(HostWarnings, capped_frequency) {
  tree_.file("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000");
  EXPECT_TRUE(says(expect("cpu.frequency_cap", Severity::warning).finding, "2.00 GHz of 3.50 GHz"));
}

TEST_F(HostWarnings, boost_is_a_note) {
  tree_.file("sys/devices/system/cpu/cpufreq/boost", "1");
  EXPECT_TRUE(says(expect("cpu.boost", Severity::info).remedy, "cpufreq/boost"));
}

TEST_F(HostWarnings, numa_balancing_matters_with_several_nodes_only) {
  tree_.file("proc/sys/kernel/numa_balancing", "1");
  EXPECT_TRUE(says(expect("memory.numa_balancing", Severity::warning).remedy, "numa_balancing"));
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
  EXPECT_TRUE(says(expect("load.average", Severity::warning).finding, "2 allowed CPUs"));
}

TEST_F(HostWarnings, pressure) {
  tree_.file("proc/pressure/cpu", "some avg10=40.00 avg60=0 total=0");
  tree_.file("proc/pressure/memory", "full avg10=5.00 avg60=0 total=0");
  expect("load.cpu_pressure", Severity::warning);
  expect("load.memory_pressure", Severity::warning);
}

TEST_F(HostWarnings, a_cpu_quota_below_the_allowed_cpus) {
  tree_.file("sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_TRUE(says(expect("cpu.quota", Severity::warning).finding, "1.50 CPUs"));
  tree_.file("sys/fs/cgroup/cpu.max", "800000 100000");
  EXPECT_EQ(find(warnings(), "cpu.quota"), nullptr);
}

TEST_F(HostWarnings, a_mask_of_cpus) {
  EXPECT_EQ(find(warnings(), "cpu.mask"), nullptr);
  tree_.file("proc/self/status", "Cpus_allowed_list:\t0,2-3\nMems_allowed_list:\t0\n");
  EXPECT_TRUE(says(expect("cpu.mask", Severity::warning).finding, "3 of 8 CPUs: 0,2-3"));
}

TEST_F(HostWarnings, limits_of_memory) {
  tree_.file("sys/fs/cgroup/memory.max", "1073741824");
  tree_.file("proc/self/limits", "Max locked memory  65536  65536  bytes");
  expect("memory.cgroup_limit", Severity::info);
  EXPECT_TRUE(says(expect("memory.memlock", Severity::info).finding, "64 KiB"));
}

TEST_F(HostWarnings, a_virtual_machine) {
  tree_.file("proc/cpuinfo", "flags : hypervisor");
  expect("kernel.virtual_machine", Severity::warning);
}

TEST_F(HostWarnings, a_slow_clock_source_names_the_remedy_that_fits) {
  const std::string clock = "sys/devices/system/clocksource/clocksource0/";
  tree_.file(clock + "current_clocksource", "hpet");
  EXPECT_TRUE(says(expect("kernel.clock_source", Severity::warning).remedy, "echo tsc"));
  tree_.file(clock + "available_clocksource", "hpet acpi_pm");
  EXPECT_TRUE(says(expect("kernel.clock_source", Severity::warning).remedy, "dmesg"));
  tree_.file(clock + "current_clocksource", "arch_sys_counter");
  EXPECT_EQ(find(warnings(), "kernel.clock_source"), nullptr);
}

TEST_F(HostWarnings, an_iommu_that_translates_for_a_gpu) {
  tree_.file("sys/bus/pci/devices/0000:81:00.0/iommu_group/type", "DMA-FQ");
  EXPECT_TRUE(says(expect("kernel.iommu", Severity::warning).finding, "0000:81:00.0"));
}

TEST_F(HostWarnings, no_driver_is_a_note_with_its_reason) {
  runtime_ = {};
  runtime_.why_none = "no NVIDIA driver";
  nvml_ = {};
  nvml_.why_none = "no library";
  EXPECT_TRUE(says(expect("driver.no_cuda", Severity::info).finding, "no NVIDIA driver"));
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
namespace {

class GpuWarnings : public test::Warnings {};

TEST_F(GpuWarnings, a_narrow_link_is_severe) {
  gpu().link_width = 8;
  const Warning found = expect("gpu.link_width", Severity::severe);
  EXPECT_TRUE(says(found.finding, "x8 of x16")) << found.finding;
  EXPECT_TRUE(says(found.finding, "31.5 instead of 63.0 GB/s")) << found.finding;
}

TEST_F(GpuWarnings, a_narrow_slot_is_seen_although_the_link_has_its_full_width) {
  gpu().link_width = gpu().link_width_max = 8;
  EXPECT_TRUE(says(expect("gpu.link_width", Severity::severe).remedy, "slot with all its lanes"));
}

TEST_F(GpuWarnings, a_narrow_link_is_seen_without_nvml) {
  nvml_ = {};
  nvml_.why_none = "no library";
  tree_.file("sys/bus/pci/devices/0000:81:00.0/current_link_width", "4");
  EXPECT_TRUE(says(expect("gpu.link_width", Severity::severe).finding, "x4 of x16"));
  expect("driver.no_nvml", Severity::warning);
}

TEST_F(GpuWarnings, a_slow_link_at_idle_is_only_a_note) {
  gpu().link_generation = 1;
  expect("gpu.link_idle", Severity::info);
  for (const Warning& warning : warnings()) {
    EXPECT_EQ(warning.severity, Severity::info) << warning.id;
  }
}

TEST_F(GpuWarnings, a_slow_slot) {
  gpu().link_generation = gpu().link_generation_max = 4;
  expect("gpu.slot_generation", Severity::warning);
  EXPECT_EQ(find(warnings(), "gpu.link_idle"), nullptr);
}

TEST_F(GpuWarnings, replays_and_other_processes) {
  gpu().pcie_replays = 12;
  gpu().processes = std::vector<NvmlProcess>{{77, "python3", 1024, "compute"}};
  EXPECT_TRUE(says(expect("gpu.pcie_replays", Severity::warning).finding, "12 packets"));
  EXPECT_TRUE(says(expect("gpu.processes", Severity::warning).finding, "1 other process on it: python3 77"));
}

TEST_F(GpuWarnings, modes_of_a_gpu) {
  gpu().mig = true;
  gpu().persistence = false;
  gpu().ecc = false;
  gpu().compute_mode = "exclusive_process";
  EXPECT_EQ(expect("gpu.mig", Severity::warning).remedy, "sudo nvidia-smi -i 0000:81:00.0 -mig 0");
  EXPECT_EQ(expect("gpu.persistence", Severity::warning).remedy, "sudo nvidia-smi -i 0000:81:00.0 -pm 1");
  expect("gpu.ecc", Severity::info);
  expect("gpu.compute_mode", Severity::info);
  gpu().compute_mode = "prohibited";
  expect("gpu.compute_mode", Severity::severe);
}

TEST_F(GpuWarnings, clocks_held_down) {
  gpu().clock_event_reasons = {"gpu_idle", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sw_power_cap"};
  const Warning severe = expect("gpu.slowdown", Severity::severe);
  EXPECT_TRUE(says(severe.finding, "hw_power_brake_slowdown, sw_thermal_slowdown")) << severe.finding;
  EXPECT_TRUE(says(expect("gpu.clocks", Severity::warning).finding, "sw_power_cap"));
}

TEST_F(GpuWarnings, confidential_computing_is_severe) {
  nvml_.confidential_computing = true;
  EXPECT_TRUE(says(expect("driver.confidential_computing", Severity::severe).effect, "zero-copy is skipped"));
}

TEST_F(GpuWarnings, an_unknown_node_of_a_gpu_among_several) {
  tree_.file("sys/bus/pci/devices/0000:81:00.0/numa_node", "-1");
  gpu().local_cpus = std::nullopt;
  expect("gpu.node_unknown", Severity::warning);
}

TEST_F(GpuWarnings, a_gpu_that_cuda_does_not_show) {
  runtime_.devices.clear();
  expect("gpu.hidden", Severity::info);
}

TEST_F(GpuWarnings, a_link_under_load_is_judged_strictly) {
  const GpuReport gpu_report = environment().gpus.at(0);
  EXPECT_TRUE(judge_link_under_load(gpu_report, {5, 16}).empty());
  const auto slow = judge_link_under_load(gpu_report, {3, 16});
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].id, "gpu.link_generation");
  EXPECT_EQ(slow[0].severity, Severity::severe);
  EXPECT_TRUE(says(slow[0].finding, "15.8 instead of 63.0 GB/s")) << slow[0].finding;
  EXPECT_EQ(judge_link_under_load(gpu_report, {3, 8}).size(), 2U);
  EXPECT_TRUE(judge_link_under_load(GpuReport{}, {1, 1}).empty()) << "nothing tells what it should be";
}

TEST(BuildWarnings, only_an_optimised_program_without_checks_measures) {
  EXPECT_TRUE(judge_build(true, false).empty());
  for (const auto& [optimised, sanitized] : {std::pair(false, false), {false, true}, {true, true}}) {
    const auto found = judge_build(optimised, sanitized);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].id, "build");
    EXPECT_EQ(found[0].severity, Severity::severe);
    EXPECT_TRUE(says(found[0].finding, optimised ? "with sanitizers" : "without optimisation"));
  }
}

TEST(PcieLink, bandwidths_are_after_line_coding) {
  EXPECT_NEAR(pcie_link_gb_s(1, 16).value(), 4.0, 0.001);
  EXPECT_NEAR(pcie_link_gb_s(3, 16).value(), 15.754, 0.001);
  EXPECT_NEAR(pcie_link_gb_s(4, 16).value(), 31.508, 0.001);
  EXPECT_NEAR(pcie_link_gb_s(5, 16).value(), 63.015, 0.001);
  EXPECT_EQ(pcie_link_gb_s(0, 16), std::nullopt);
  EXPECT_EQ(pcie_link_gb_s(9, 16), std::nullopt);
  EXPECT_EQ(pcie_link_gb_s(4, 0), std::nullopt);
}

}  // namespace
}  // namespace grainscope
