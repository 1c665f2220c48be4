#include "harness/machine.hpp"

#include <gtest/gtest.h>

#include <string>

#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "harness/link_peaks.hpp"

namespace grainscope::harness {
namespace {

Machine machine_with_gpus(int count) {
  Machine machine = test::machine_without_gpu();
  machine.runtime.why_none.clear();
  for (int i = 0; i < count; ++i) {
    cuda::DeviceProperties device;
    device.ordinal = i;
    device.uuid = "GPU-" + std::to_string(i);
    machine.runtime.devices.push_back(device);
    GpuReport report;
    report.uuid = device.uuid;
    report.cuda = device;
    report.near.node = i;
    machine.environment.gpus.push_back(report);
  }
  return machine;
}

TEST(GpuTargets, without_a_gpu_a_nominal_one_says_why_nothing_runs) {
  const Machine machine = test::machine_without_gpu();
  const auto targets = gpu_targets(machine, {});
  ASSERT_EQ(targets.size(), 1U);
  EXPECT_EQ(targets[0].unavailable, machine.runtime.why_none);
  EXPECT_EQ(targets[0].locality(0), "unknown");
}

TEST(GpuTargets, all_are_taken_unless_some_are_asked_for) {
  const Machine machine = machine_with_gpus(3);
  EXPECT_EQ(gpu_targets(machine, {}).size(), 3U);
  const auto one = gpu_targets(machine, {1});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].ordinal, 1);
  EXPECT_EQ(one[0].unavailable, "");
  EXPECT_EQ(one[0].locality(1), "local");
  EXPECT_EQ(one[0].locality(0), "remote");
}

TEST(GpuTargets, one_that_does_not_exist_is_refused_with_those_there_are) {
  try {
    static_cast<void>(gpu_targets(machine_with_gpus(2), {0, 2}));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "there is no GPU 2: this machine has GPUs 0, 1");
  }
}

TEST(GpuTargets, one_asked_for_where_there_is_none_is_refused_with_the_reason) {
  const Machine machine = test::machine_without_gpu();
  try {
    static_cast<void>(gpu_targets(machine, {0}));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find(machine.runtime.why_none), std::string::npos) << error.what();
  }
}

TEST(GpuTargets, a_prohibited_gpu_is_listed_and_cannot_be_used) {
  Machine machine = machine_with_gpus(1);
  machine.environment.gpus[0].nvml.emplace().compute_mode = "prohibited";
  EXPECT_NE(gpu_targets(machine, {}).at(0).unavailable.find("nvidia-smi -c DEFAULT"), std::string::npos);
}

TEST(NodeTargets, one_that_does_not_exist_is_refused_with_those_there_are) {
  const Machine machine = test::machine_without_gpu();
  EXPECT_FALSE(node_targets(machine, {}).empty());
  try {
    static_cast<void>(node_targets(machine, {4711}));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("NUMA node 4711"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("usable: "), std::string::npos) << error.what();
  }
}

TEST(HostLinkLimit, is_that_of_the_link_at_its_best) {
  Machine machine = machine_with_gpus(1);
  machine.environment.gpus[0].sysfs_link_generation_max = 5;
  machine.environment.gpus[0].sysfs_link_width_max = 16;
  const auto limit = host_link_limit(machine, 0);
  ASSERT_TRUE(limit.has_value());
  EXPECT_NEAR(limit->gb_s, 63.0, 0.1);
  EXPECT_NE(limit->source.find("PCIe 5.0 x16"), std::string::npos) << limit->source;
}

TEST(HostLinkLimit, of_a_chip_to_chip_link_is_450_gb_s) {
  Machine machine = machine_with_gpus(1);
  machine.environment.gpus[0].nvml.emplace().c2c_links = 10;
  ASSERT_TRUE(host_link_limit(machine, 0).has_value());
  EXPECT_EQ(host_link_limit(machine, 0)->gb_s, 450);
}

TEST(HostLinkLimit, is_the_cards_memory_where_the_link_is_unknown) {
  Machine machine = machine_with_gpus(1);
  EXPECT_FALSE(host_link_limit(machine, 0).has_value());
  machine.environment.gpus[0].cuda->memory_clock_hz = 1'000'000'000;
  machine.environment.gpus[0].cuda->memory_bus_width_bits = 256;
  ASSERT_TRUE(host_link_limit(machine, 0).has_value());
  EXPECT_DOUBLE_EQ(host_link_limit(machine, 0)->gb_s, 64);
}

TEST(HostLinkLimit, there_is_none_for_a_gpu_that_is_not_there) {
  EXPECT_FALSE(host_link_limit(machine_with_gpus(1), 3).has_value());
}

// A card for generation 5 and 16 lanes, whose link was seen in this state while copies reached `peak_gb_s`.
class NegotiatedLink : public testing::Test {
 protected:
  NegotiatedLink() {
    machine_.environment.gpus[0].sysfs_link_generation_max = 5;
    machine_.environment.gpus[0].sysfs_link_width_max = 16;
  }
  [[nodiscard]] std::optional<double> of(std::optional<NvmlLinkState> under_load, double peak_gb_s) const {
    LinkPeak peak;
    peak.path = LinkPath::host_to_gpu(0, 0);
    peak.peak_gb_s = peak_gb_s;
    peak.under_load = under_load;
    return negotiated_gb_s(machine_, peak);
  }
  Machine machine_ = machine_with_gpus(1);
};

TEST_F(NegotiatedLink, trained_down_can_do_less_than_the_card_and_the_limit_stays) {
  EXPECT_NEAR(of(NvmlLinkState{4, 8}, 13).value(), 15.754, 0.001);
  EXPECT_NEAR(of(NvmlLinkState{5, 16}, 55).value(), 63.015, 0.001);
  EXPECT_NEAR(host_link_limit(machine_, 0)->gb_s, 63.015, 0.001) << "what makes a row an error";
}

TEST_F(NegotiatedLink, that_was_not_seen_or_was_read_wrong_is_the_link_at_its_best) {
  EXPECT_NEAR(of(std::nullopt, 55).value(), 63.015, 0.001);
  EXPECT_NEAR(of(NvmlLinkState{1, 16}, 55).value(), 63.015, 0.001) << "copies were faster than generation 1";
  EXPECT_NEAR(of(NvmlLinkState{0, 0}, 55).value(), 63.015, 0.001);
}

TEST_F(NegotiatedLink, from_chip_to_chip_is_no_pci_express) {
  machine_.environment.gpus[0].nvml.emplace().c2c_links = 10;
  EXPECT_EQ(of(NvmlLinkState{5, 16}, 40), 450);
}

TEST_F(NegotiatedLink, of_a_card_that_tells_nothing_is_what_was_seen) {
  machine_.environment.gpus[0].sysfs_link_generation_max.reset();
  EXPECT_NEAR(of(NvmlLinkState{4, 8}, 13).value(), 15.754, 0.001);
  EXPECT_EQ(of(std::nullopt, 13), std::nullopt);
}

class LocalCopyLimit : public testing::Test {
 protected:
  LocalCopyLimit() {
    cuda::DeviceProperties& card = *machine_.environment.gpus[0].cuda;
    card.memory_clock_hz = 1'000'000'000;
    card.memory_bus_width_bits = 256;  // 64 GB/s
    card.l2_bytes = 1000;
  }
  Machine machine_ = machine_with_gpus(1);
};

TEST_F(LocalCopyLimit, is_half_the_memorys_rate_once_the_cache_does_not_matter) {
  ASSERT_TRUE(local_copy_limit(machine_, 0, 8000).has_value());
  EXPECT_DOUBLE_EQ(local_copy_limit(machine_, 0, 8000)->gb_s, 32);
}

TEST_F(LocalCopyLimit, is_the_memorys_rate_where_the_cache_may_hold_half_the_traffic) {
  for (const std::uint64_t bytes : {1000U, 7999U}) {
    ASSERT_TRUE(local_copy_limit(machine_, 0, bytes).has_value());
    EXPECT_DOUBLE_EQ(local_copy_limit(machine_, 0, bytes)->gb_s, 64);
  }
}

TEST_F(LocalCopyLimit, there_is_none_where_the_cache_may_hold_all_or_the_card_does_not_tell) {
  EXPECT_FALSE(local_copy_limit(machine_, 0, 999).has_value());
  EXPECT_FALSE(local_copy_limit(machine_, 1, 8000).has_value());
  machine_.environment.gpus[0].cuda->memory_clock_hz = 0;
  EXPECT_FALSE(local_copy_limit(machine_, 0, 8000).has_value());
  machine_.environment.gpus[0].cuda->memory_clock_hz = 1;
  machine_.environment.gpus[0].cuda->l2_bytes = 0;
  EXPECT_FALSE(local_copy_limit(machine_, 0, 8000).has_value());
}

}  // namespace
}  // namespace grainscope::harness
