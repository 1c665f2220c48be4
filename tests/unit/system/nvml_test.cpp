#include "grainscope/system/nvml.hpp"

#include "grainscope/system/conditions.hpp"

#include <gtest/gtest.h>

#include "../../testing/says.hpp"
#include "grainscope/core/error.hpp"
#include "nvml_report.hpp"

namespace grainscope {
namespace {

using test::nvml_report_text;
using test::parse_nvml_report;
using test::says;

TEST(Nvml, without_the_library_says_so_and_what_to_do) {
  std::string why;
  EXPECT_EQ(Nvml::open(why, "libnvidia-ml-that-is-not-there.so.1"), nullptr);
  EXPECT_TRUE(says(why, "libnvidia-ml-that-is-not-there.so.1")) << why;
  EXPECT_TRUE(says(why, "install")) << why;
}

TEST(Nvml, a_library_that_lacks_vital_functions_is_named_with_the_function) {
  std::string why;
  EXPECT_EQ(Nvml::open(why, GRAINSCOPE_FAKE_NVML_LACKS_FUNCTIONS), nullptr);
  EXPECT_TRUE(says(why, "nvmlShutdown")) << why;
}

TEST(Nvml, a_library_without_a_driver_says_that_the_driver_is_not_loaded) {
  std::string why;
  EXPECT_EQ(Nvml::open(why, GRAINSCOPE_FAKE_NVML_NOT_STARTED), nullptr);
  EXPECT_TRUE(says(why, "gave 9: Driver Not Loaded")) << why;
  EXPECT_TRUE(says(why, "modprobe")) << why;
}

class FakeNvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(nvml_, nullptr) << why_; }
  std::string why_;
  std::unique_ptr<Nvml> nvml_ = Nvml::open(why_, GRAINSCOPE_FAKE_NVML);
};

TEST_F(FakeNvml, identity_and_link_are_read) {
  const NvmlReport report = nvml_->report();
  EXPECT_EQ(report.driver_version, "580.1");
  EXPECT_EQ(report.why_none, "");
  ASSERT_EQ(report.devices.size(), 2U);
  const NvmlDevice& gpu = report.devices[0];
  EXPECT_EQ(gpu.name, "Fake H100");
  EXPECT_EQ(gpu.uuid, "GPU-zero");
  EXPECT_EQ(gpu.vbios_version, "96.00.74.00.01");
  EXPECT_EQ(gpu.pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(gpu.link_generation, 1);
  EXPECT_EQ(gpu.link_width, 8);
  EXPECT_EQ(gpu.link_generation_max, 4);
  EXPECT_EQ(gpu.link_width_max, 16);
  EXPECT_EQ(gpu.gpu_link_generation_max, 5);
  EXPECT_EQ(gpu.pcie_replays, 3U);
  EXPECT_EQ(gpu.local_cpus, (std::vector<int>{4, 5, 6, 7}));
}

TEST_F(FakeNvml, clocks_modes_and_memory_are_read) {
  const NvmlDevice gpu = nvml_->report().devices.at(0);
  EXPECT_EQ(gpu.sm_clock_mhz, 1001);
  EXPECT_EQ(gpu.memory_clock_max_mhz, 2002);
  EXPECT_EQ(gpu.clock_event_reasons, (std::vector<std::string>{"gpu_idle", "hw_thermal_slowdown", "bit_12"}));
  EXPECT_EQ(gpu.ecc, true);
  EXPECT_EQ(gpu.mig, false) << "the current mode, not the pending one";
  EXPECT_EQ(gpu.persistence, false);
  EXPECT_EQ(gpu.compute_mode, "exclusive_process");
  EXPECT_EQ(gpu.addressing_mode, "hmm");
  EXPECT_EQ(gpu.memory_bytes, std::uint64_t{80} << 30);
  EXPECT_EQ(gpu.memory_used_bytes, std::uint64_t{10} << 30);
  EXPECT_EQ(gpu.bar1_bytes, std::uint64_t{128} << 30);
  EXPECT_EQ(gpu.power_limit_mw, 700000) << "the library has no enforced limit, but a management limit";
  EXPECT_EQ(gpu.temperature_c, 40);
  EXPECT_EQ(gpu.energy_counter, true);
}

TEST_F(FakeNvml, nvlinks_are_listed_with_speed_and_the_other_end) {
  const auto links = nvml_->report().devices.at(0).nvlinks;
  ASSERT_TRUE(links);
  ASSERT_EQ(links->size(), 2U);
  EXPECT_TRUE((*links)[0].active);
  EXPECT_EQ((*links)[0].version, "4.0");
  EXPECT_EQ((*links)[0].speed_mb_s, 26562U);
  EXPECT_EQ((*links)[0].remote_type, "switch");
  EXPECT_FALSE((*links)[1].active);
}

TEST_F(FakeNvml, many_processes_are_all_listed_once) {
  const auto processes = nvml_->report().devices.at(0).processes;
  ASSERT_TRUE(processes);
  EXPECT_EQ(processes->size(), 100U);
  EXPECT_EQ((*processes)[2].used_bytes, 2000U);
  EXPECT_EQ((*processes)[1].used_bytes, std::nullopt);
}

TEST_F(FakeNvml, what_is_not_supported_or_forbidden_is_unknown) {
  const NvmlDevice gpu = nvml_->report().devices.at(1);
  EXPECT_EQ(gpu.uuid, "GPU-one");
  EXPECT_EQ(gpu.name, std::nullopt);
  EXPECT_EQ(gpu.vbios_version, std::nullopt);
  EXPECT_EQ(gpu.pci_bus_id, std::nullopt);
  EXPECT_EQ(gpu.link_width, std::nullopt);
  EXPECT_EQ(gpu.pcie_replays, std::nullopt);
  EXPECT_EQ(gpu.ecc, std::nullopt);
  EXPECT_EQ(gpu.mig, std::nullopt);
  EXPECT_EQ(gpu.compute_mode, std::nullopt);
  EXPECT_EQ(gpu.addressing_mode, std::nullopt);
  EXPECT_EQ(gpu.memory_bytes, std::nullopt);
  EXPECT_EQ(gpu.clock_event_reasons, std::nullopt);
  EXPECT_EQ(gpu.energy_counter, false);
  EXPECT_EQ(gpu.processes, std::nullopt) << "not an empty list";
  ASSERT_TRUE(gpu.nvlinks);
  EXPECT_TRUE(gpu.nvlinks->empty()) << "a GPU without NVLink has none";
  EXPECT_EQ(gpu.c2c_links, std::nullopt);
}

TEST_F(FakeNvml, protected_pcie_counts_as_confidential_computing) {
  EXPECT_EQ(nvml_->report().confidential_computing, true);
}

TEST_F(FakeNvml, single_readings_are_by_uuid) {
  EXPECT_EQ(nvml_->energy_mj("GPU-zero"), 123456789012U);
  EXPECT_EQ(nvml_->energy_mj("GPU-one"), std::nullopt);
  EXPECT_EQ(nvml_->energy_mj("GPU-absent"), std::nullopt);
  const auto link = nvml_->link_now("GPU-zero");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->generation, 1);
  EXPECT_EQ(link->width, 8);
  EXPECT_FALSE(nvml_->link_now("GPU-one"));
  EXPECT_EQ(nvml_->pcie_replays("GPU-zero"), 3U);
  EXPECT_EQ(nvml_->clock_event_reasons("GPU-zero")->size(), 3U);
  const Conditions now = read_conditions(0, nvml_.get(), {"GPU-zero"}, "/nowhere");
  EXPECT_EQ(now.gpu_sm_mhz, 1001);
  EXPECT_EQ(now.gpu_memory_mhz, 1002);
  EXPECT_EQ(now.throttle->size(), 3U);
  EXPECT_EQ(now.link->generation, link->generation);
  EXPECT_EQ(now.ecc_errors, 7U);
  EXPECT_FALSE(read_conditions(0, nvml_.get(), {"GPU-one"}, "/nowhere").ecc_errors);
  const Conditions of_both = read_conditions(0, nvml_.get(), {"GPU-one", "GPU-zero"}, "/nowhere");
  EXPECT_EQ(of_both.gpu_sm_mhz, 1001);
  EXPECT_EQ(of_both.throttle->size(), 3U);
  const Conditions twice = read_conditions(0, nvml_.get(), {"GPU-zero", "GPU-zero"}, "/nowhere");
  EXPECT_EQ(twice.throttle->size(), 3U) << "each reason once";
  EXPECT_EQ(twice.ecc_errors, 14U);
  EXPECT_FALSE(read_conditions(0, nvml_.get(), {"GPU-absent"}, "/nowhere").gpu_sm_mhz);
  EXPECT_EQ(nvml_->clock_event_reasons("GPU-absent"), std::nullopt);
}

TEST(ClockEventReasons, no_bit_is_no_reason) {
  EXPECT_TRUE(clock_event_reason_names(0).empty());
  EXPECT_EQ(clock_event_reason_names(0x80), std::vector<std::string>{"hw_power_brake_slowdown"});
}

TEST(NvmlReport, a_table_reads_back_as_it_was_written) {
  const NvmlReport report = test::h100();
  ASSERT_EQ(report.devices.size(), 1U);
  EXPECT_EQ(report.devices[0].link_width_max, 16);
  EXPECT_EQ(report.devices[0].nvlinks->at(0).speed_mb_s, 26562U);
  EXPECT_EQ(nvml_report_text(parse_nvml_report(nvml_report_text(report))), nvml_report_text(report));
}

TEST(NvmlReport, absent_and_null_fields_are_unknown) {
  const NvmlReport report = parse_nvml_report(R"({"devices": [{"name": null}]})");
  EXPECT_EQ(report.devices.at(0).name, std::nullopt);
  EXPECT_EQ(report.devices.at(0).processes, std::nullopt);
  EXPECT_EQ(report.confidential_computing, std::nullopt);
}

TEST(NvmlReport, wrong_tables_are_refused_by_the_fields_name) {
  const auto refusal = [](const char* text) {
    try {
      (void)parse_nvml_report(text);
      return std::string("no error");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_TRUE(says(refusal("{"), "no JSON"));
  EXPECT_TRUE(says(refusal("[]"), "no object"));
  EXPECT_TRUE(says(refusal(R"({"devices": [{"link_width": "x16"}]})"), "devices[0].link_width"));
  EXPECT_TRUE(says(refusal(R"({"devices": [{"link_width": 99999999999}]})"), "devices[0].link_width"));
  EXPECT_TRUE(says(refusal(R"({"devices": [{"memory_bytes": -1}]})"), "devices[0].memory_bytes"));
  EXPECT_TRUE(says(refusal(R"({"devices": [{"link_widht": 16}]})"), "link_widht"));
  EXPECT_TRUE(says(refusal(R"({"devices": [{"processes": [{"pid": "x"}]}]})"), "processes[0].pid"));
}

}  // namespace
}  // namespace grainscope
