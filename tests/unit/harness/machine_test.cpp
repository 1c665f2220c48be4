#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "fakes.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/warnings.hpp"
#include "harness/axes.hpp"
#include "harness/link_peaks.hpp"
#include "harness/machine.hpp"

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

TEST(WhyNoBulk, it_names_what_is_needed_and_what_the_gpu_has) {
  Machine machine = machine_with_gpus(2);
  machine.environment.gpus[0].cuda->compute_major = 8;
  machine.environment.gpus[0].cuda->compute_minor = 6;
  machine.environment.gpus[1].cuda->compute_major = 9;
  EXPECT_EQ(why_no_bulk(machine, 0),
            "the GPU has no bulk copies: they need compute capability 9.0, this one has 8.6");
  EXPECT_EQ(why_no_bulk(machine, 1), "");
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

TEST(LeaveGpuMemory, cases_plan_with_what_is_left) {
  Machine machine = test::machine_with_gpus(2);
  leave_gpu_memory(machine, {}, {});
  EXPECT_EQ(machine.find_gpu(0)->cuda->memory_bytes(), 80 * kGiB);

  leave_gpu_memory(machine, 16 * kGiB, {1});
  // Also of those that nobody asked for: they may take part.
  EXPECT_EQ(machine.find_gpu(0)->cuda->held_memory_bytes, 64 * kGiB);
  EXPECT_EQ(machine.find_gpu(1)->cuda->held_memory_bytes, 64 * kGiB);
  EXPECT_EQ(machine.find_gpu(1)->cuda->memory_bytes(), 16 * kGiB);
  EXPECT_EQ(machine.runtime.devices[1].memory_bytes(), 16 * kGiB);
  EXPECT_LE(largest_buffer(machine, 1), 8 * kGiB);
  EXPECT_EQ(why_no_memory(machine, cuda::MemoryKind::managed_host, 1, 12 * kGiB), "");
  EXPECT_NE(why_no_memory(machine, cuda::MemoryKind::managed_host, 1, 13 * kGiB), "");
}

TEST(LeaveGpuMemory, more_than_a_gpu_has_is_refused) {
  Machine machine = test::machine_with_gpus(2);
  leave_gpu_memory(machine, 80 * kGiB, {});
  EXPECT_EQ(machine.find_gpu(0)->cuda->held_memory_bytes, 0);
  try {
    leave_gpu_memory(machine, 81 * kGiB, {0});
    ADD_FAILURE() << "81 GiB of a card of 80";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(std::string(error.what()), "--gpu-memory 81 GiB is more than GPU 0 has: 80 GiB");
  }
  machine.runtime.devices[1].total_memory_bytes = 40 * kGiB;
  leave_gpu_memory(machine, 80 * kGiB, {0});
  EXPECT_EQ(machine.runtime.devices[1].held_memory_bytes, 0);
}

TEST(LeaveGpuMemory, the_file_tells_what_is_held) {
  Machine machine = test::machine_with_gpus(1);
  leave_gpu_memory(machine, 16 * kGiB, {});
  const nlohmann::json environment = environment_json(machine.environment, {});
  EXPECT_EQ(environment.at("gpus").at(0).at("cuda").at("held_memory_bytes"), 64 * kGiB);
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
namespace {

Scope scope_of(Preset preset) {
  return make_scope(preset, {}, false, {});
}

TEST(Preset, every_name_reads_back) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    EXPECT_EQ(parse_preset(name(preset)), preset);
  }
}

TEST(Preset, another_name_is_refused_with_those_there_are) {
  for (const char* text : {"", "fast", "Quick", "quick "}) {
    EXPECT_THROW(static_cast<void>(parse_preset(text)), UsageError) << text;
  }
}

TEST(NearAndFar, are_the_local_node_and_one_remote) {
  const GpuTarget gpu{0, "", 2};
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2, 3};
  EXPECT_EQ(scope.near_and_far(gpu), (std::vector{2, 0}));
}

TEST(NearAndFar, are_all_where_it_is_not_known_which_is_local) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1, 2};
  EXPECT_EQ(scope.near_and_far({0, "", std::nullopt}), scope.nodes);
}

TEST(NearAndFar, are_two_nodes_as_they_are) {
  Scope scope = scope_of(Preset::quick);
  scope.nodes = {0, 1};
  EXPECT_EQ(scope.near_and_far({0, "", 1}), scope.nodes);
}

TEST(NearestNode, is_the_gpus_own_where_the_scope_has_it_else_the_first) {
  Scope scope = scope_of(Preset::quick);
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 0);
  scope.nodes = {1, 2, 3};
  EXPECT_EQ(scope.nearest_node({0, "", 2}), 2);
  EXPECT_EQ(scope.nearest_node({0, "", 0}), 1);
  EXPECT_EQ(scope.nearest_node({0, "", std::nullopt}), 1);
}

TEST(Places, are_the_first_gpu_alone_unless_gpus_were_asked_for) {
  const std::vector<GpuTarget> gpus{{0, "", 0}, {1, "", 0}};
  const std::vector<DeclaredAxis> axes{gpu_axis(), node_axis()};
  const auto taken = [&](Preset preset, bool asked_for) {
    const Scope scope = make_scope(preset, gpus, asked_for, {0});
    const Grids grids(axes, "transfer/memcpy", scope);
    return grids.gpus(grids.all().front()).size();
  };
  EXPECT_EQ(taken(Preset::quick, false), 1U);
  EXPECT_EQ(taken(Preset::smoke, false), 1U);
  EXPECT_EQ(taken(Preset::quick, true), 2U);
  EXPECT_EQ(taken(Preset::full, false), 2U);
}

TEST(MakeScope, comes_to_a_case_three_times_where_numbers_are_to_hold) {
  EXPECT_EQ(scope_of(Preset::acceptance).visits, 5);
  EXPECT_EQ(scope_of(Preset::quick).visits, 3);
  EXPECT_EQ(scope_of(Preset::full).visits, 3);
  EXPECT_EQ(scope_of(Preset::smoke).visits, 1);
}

}  // namespace
}  // namespace grainscope::harness
