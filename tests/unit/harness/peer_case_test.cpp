#include "transfer/peer_case.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "fakes.hpp"
#include "families.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

std::string address(int gpu) {
  return "0000:" + std::to_string(10 + gpu) + ":00.0";
}

// GPUs that can reach each other, of whose links nothing is told.
Machine machine_with_gpus(int count) {
  Machine machine = test::machine_without_gpu();
  machine.runtime.why_none.clear();
  for (int i = 0; i < count; ++i) {
    cuda::DeviceProperties device;
    device.ordinal = i;
    machine.runtime.devices.push_back(device);
    GpuReport report;
    report.pci_bus_id = address(i);
    report.cuda = device;
    machine.environment.gpus.push_back(report);
    for (int j = 0; j < count; ++j) {
      if (j != i) {
        machine.runtime.peers.push_back({i, j, true, true});
      }
    }
  }
  return machine;
}

void give_links(Machine& machine, int gpu, std::vector<NvmlNvlink> links) {
  auto& nvml = machine.environment.gpus.at(static_cast<std::size_t>(gpu)).nvml;
  nvml = nvml ? nvml : NvmlDevice{};
  nvml->nvlinks = std::move(links);
}

NvmlNvlink to_switch() {
  return {0, true, "4.0", 25000, "switch", ""};
}
NvmlNvlink to_gpu(int peer) {
  return {0, true, "4.0", 25000, "gpu", address(peer)};
}

std::vector<GpuPair> pairs_of(const Machine& machine, Preset preset, const std::vector<int>& wanted = {}) {
  const std::vector<DeclaredAxis> axes;
  const Scope scope = make_scope(preset, gpu_targets(machine, wanted), !wanted.empty(), {0});
  const Grids grids(axes, "transfer/peer", scope);
  return gpu_pairs(machine, grids, grids.all().front());
}

std::set<std::pair<int, int>> orders(const std::vector<GpuPair>& pairs) {
  std::set<std::pair<int, int>> found;
  for (const GpuPair& pair : pairs) {
    EXPECT_TRUE(found.insert({pair.gpu.ordinal, pair.peer}).second) << "listed twice";
  }
  return found;
}

using Orders = std::set<std::pair<int, int>>;

TEST(GpuPairs, one_gpu_gives_a_nominal_pair_that_says_what_is_missing) {
  const auto pairs = pairs_of(machine_with_gpus(1), Preset::quick);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].unavailable, "needs two GPUs; this machine has one");
  EXPECT_EQ(pairs[0].why_no_access(), pairs[0].unavailable);
  EXPECT_EQ(pairs[0].link, "unknown");
  EXPECT_NE(pairs[0].gpu.ordinal, pairs[0].peer);
}

TEST(GpuPairs, no_gpu_gives_a_nominal_pair_with_the_drivers_reason) {
  const Machine machine = test::machine_without_gpu();
  const auto pairs = pairs_of(machine, Preset::full);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].unavailable, machine.runtime.why_none);
}

TEST(GpuPairs, quick_pairs_the_first_two_though_its_scope_has_one) {
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::quick)), (Orders{{0, 1}, {1, 0}}));
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::smoke)), (Orders{{0, 1}, {1, 0}}));
}

TEST(GpuPairs, quick_takes_the_gpus_asked_for) {
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::quick, {2, 3})), (Orders{{2, 3}, {3, 2}}));
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::quick, {3})), (Orders{{3, 0}, {0, 3}}));
}

TEST(GpuPairs, full_has_every_order_of_every_pair) {
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::full)).size(), 12U);
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::full, {1, 2})), (Orders{{1, 2}, {2, 1}}));
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(3), Preset::full, {1})),
            (Orders{{1, 0}, {0, 1}, {1, 2}, {2, 1}}));
}

TEST(GpuPairs, acceptance_visits_every_gpu_in_a_ring) {
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(4), Preset::acceptance)),
            (Orders{{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {3, 0}, {0, 3}}));
  EXPECT_EQ(orders(pairs_of(machine_with_gpus(2), Preset::acceptance)), (Orders{{0, 1}, {1, 0}}));
}

TEST(GpuPairs, without_access_one_direction_says_so_and_is_still_there_for_copies) {
  Machine machine = machine_with_gpus(2);
  machine.runtime.peers[0].access = false;
  const auto pairs = pairs_of(machine, Preset::quick);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].unavailable, "");
  EXPECT_NE(pairs[0].no_access.find("nvidia-smi topo"), std::string::npos);
  EXPECT_EQ(pairs[1].no_access, "");
}

TEST(GpuPairs, a_prohibited_peer_makes_the_pair_unavailable) {
  Machine machine = machine_with_gpus(2);
  machine.environment.gpus[1].nvml.emplace().compute_mode = "prohibited";
  for (const GpuPair& pair : pairs_of(machine, Preset::quick)) {
    EXPECT_NE(pair.unavailable.find("GPU 1"), std::string::npos) << pair.unavailable;
  }
}

// By whom copies that the host lies between are issued, of GPU 0 and GPU 1.
std::set<std::string> staged_in(Preset preset) {
  const Machine machine = machine_with_gpus(2);
  std::set<std::string> found;
  for (const Benchmark& benchmark :
       list_all({transfer_peer()}, machine, make_scope(preset, gpu_targets(machine, {}), false, {0}))) {
    if (to_string(benchmark.id.axis("access")) == "off") {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      found.insert(to_string(benchmark.id.axis("method")) + " " + to_string(benchmark.id.axis("direction")));
    }
  }
  return found;
}

TEST(TransferPeer, copies_without_access_are_issued_by_either_gpu_and_in_quick_by_one) {
  using Ways = std::set<std::string>;
  for (const Preset preset : {Preset::smoke, Preset::full, Preset::paper, Preset::acceptance}) {
    EXPECT_EQ(staged_in(preset), (Ways{"copy_engine read", "copy_engine write"})) << name(preset);
  }
  EXPECT_EQ(staged_in(Preset::quick), Ways{"copy_engine read"});
}

TEST(PeerWires, nothing_told_is_unknown) {
  const PeerWire wire = peer_wire(machine_with_gpus(2), 0, 1);
  EXPECT_EQ(wire.link, "unknown");
  EXPECT_FALSE(wire.nvlinks.has_value());
}

TEST(PeerWires, links_to_a_switch_on_both_sides_join_them) {
  Machine machine = machine_with_gpus(2);
  give_links(machine, 0, {to_switch(), to_switch()});
  give_links(machine, 1, {to_switch(), to_switch()});
  const PeerWire wire = peer_wire(machine, 0, 1);
  EXPECT_EQ(wire.link, "nvlink");
  EXPECT_EQ(wire.nvlinks, 2);
  EXPECT_DOUBLE_EQ(wire.gb_s.value(), 50);
}

TEST(PeerWires, direct_links_are_counted_by_where_they_lead) {
  Machine machine = machine_with_gpus(3);
  give_links(machine, 0, {to_gpu(1), to_gpu(1), to_gpu(2)});
  give_links(machine, 1, {to_gpu(0), to_gpu(0)});
  give_links(machine, 2, {to_gpu(0)});
  EXPECT_EQ(peer_wire(machine, 0, 1).nvlinks, 2);
  EXPECT_EQ(peer_wire(machine, 0, 2).nvlinks, 1);
  EXPECT_EQ(peer_wire(machine, 1, 2).link, "pcie");
}

TEST(PeerWires, gpus_without_links_are_joined_by_the_bus) {
  Machine machine = machine_with_gpus(2);
  give_links(machine, 0, {});
  give_links(machine, 1, {{0, false, "", std::nullopt, "", ""}});
  EXPECT_EQ(peer_wire(machine, 0, 1).link, "pcie");
}

TEST(PeerWires, links_that_lead_to_who_knows_where_tell_nothing) {
  Machine machine = machine_with_gpus(2);
  give_links(machine, 0, {{0, true, "4.0", 25000, "gpu", "0000:99:00.0"}});
  give_links(machine, 1, {{0, true, "4.0", 25000, "gpu", ""}});
  EXPECT_EQ(peer_wire(machine, 0, 1).link, "unknown");
}

TEST(PeerWires, a_link_whose_speed_is_not_told_leaves_the_sum_untold) {
  Machine machine = machine_with_gpus(2);
  NvmlNvlink silent = to_gpu(1);
  silent.speed_mb_s.reset();
  give_links(machine, 0, {to_gpu(1), silent});
  give_links(machine, 1, {to_gpu(0), to_gpu(0)});
  EXPECT_EQ(peer_wire(machine, 0, 1).nvlinks, 2);
  EXPECT_FALSE(peer_wire(machine, 0, 1).gb_s.has_value());
}

}  // namespace
}  // namespace grainscope::harness
