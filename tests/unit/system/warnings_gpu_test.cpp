#include "grainscope/system/warnings.hpp"

#include <gtest/gtest.h>

#include "warned_machine.hpp"

namespace grainscope {
namespace {

using test::contains;
using test::find;

class GpuWarnings : public test::Warnings {};

TEST_F(GpuWarnings, a_narrow_link_is_severe) {
  gpu().link_width = 8;
  const Warning found = expect("gpu.link_width", Severity::severe);
  EXPECT_TRUE(contains(found.finding, "x8 of x16")) << found.finding;
  EXPECT_TRUE(contains(found.finding, "31.5 instead of 63.0 GB/s")) << found.finding;
}

TEST_F(GpuWarnings, a_narrow_slot_is_seen_although_the_link_has_its_full_width) {
  gpu().link_width = gpu().link_width_max = 8;
  EXPECT_TRUE(contains(expect("gpu.link_width", Severity::severe).remedy, "slot with all its lanes"));
}

TEST_F(GpuWarnings, a_narrow_link_is_seen_without_nvml) {
  nvml_ = {};
  nvml_.why_none = "no library";
  tree_.file("sys/bus/pci/devices/0000:81:00.0/current_link_width", "4");
  EXPECT_TRUE(contains(expect("gpu.link_width", Severity::severe).finding, "x4 of x16"));
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
  EXPECT_TRUE(contains(expect("gpu.pcie_replays", Severity::warning).finding, "12 packets"));
  EXPECT_TRUE(
      contains(expect("gpu.processes", Severity::warning).finding, "1 other process on it: python3 77"));
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
  EXPECT_TRUE(contains(severe.finding, "hw_power_brake_slowdown, sw_thermal_slowdown")) << severe.finding;
  EXPECT_TRUE(contains(expect("gpu.clocks", Severity::warning).finding, "sw_power_cap"));
}

TEST_F(GpuWarnings, confidential_computing_is_severe) {
  nvml_.confidential_computing = true;
  EXPECT_TRUE(
      contains(expect("driver.confidential_computing", Severity::severe).effect, "zero-copy is skipped"));
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
  EXPECT_TRUE(contains(slow[0].finding, "15.8 instead of 63.0 GB/s")) << slow[0].finding;
  EXPECT_EQ(judge_link_under_load(gpu_report, {3, 8}).size(), 2U);
  EXPECT_TRUE(judge_link_under_load(GpuReport{}, {1, 1}).empty()) << "nothing tells what it should be";
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
