#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "transfer/grain.hpp"
#include "transfer/peer_case.hpp"

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
  const std::vector<DeclaredAxis> axes{gpu_axis(), pairs_axis(), orders_axis()};
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

std::vector<PairCarries> all_pairs(const Machine& machine, int gpus, double of_peak) {
  std::vector<PairCarries> pairs;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from != to) {
        const double limit_gb_s = peer_link_limit(machine, from, to)->gb_s;
        pairs.push_back({LinkPath::between(from, to), {limit_gb_s, of_peak * limit_gb_s}});
      }
    }
  }
  return pairs;
}

TEST(PeerWires, through_a_switch_a_gpu_has_the_same_links_for_all_others) {
  Machine machine = machine_with_gpus(4);
  for (int gpu = 0; gpu < 4; ++gpu) {
    give_links(machine, gpu, {to_switch(), to_switch()});
  }
  const auto pairs = all_pairs(machine, 4, 0.8);
  const Carried all = carried_between_gpus(machine, pairs);
  EXPECT_DOUBLE_EQ(all.limit_gb_s, 4 * 50);
  EXPECT_DOUBLE_EQ(all.peak_gb_s, 4 * 40);
  // From one to the others, and from two to one, it is one GPU's links.
  const Carried from_one = carried_between_gpus(machine, {pairs[0], pairs[1], pairs[2]});
  EXPECT_DOUBLE_EQ(from_one.limit_gb_s, 50);
  EXPECT_DOUBLE_EQ(from_one.peak_gb_s, 40);
  const Carried to_one = carried_between_gpus(
      machine, {{LinkPath::between(1, 0), {50, 40}}, {LinkPath::between(2, 0), {50, 41}}});
  EXPECT_DOUBLE_EQ(to_one.limit_gb_s, 50);
  EXPECT_DOUBLE_EQ(to_one.peak_gb_s, 41);
  // A ring takes no link twice.
  const Carried ring = carried_between_gpus(
      machine, {{LinkPath::between(0, 1), {50, 40}}, {LinkPath::between(1, 0), {50, 40}}});
  EXPECT_DOUBLE_EQ(ring.limit_gb_s, 100);
  EXPECT_DOUBLE_EQ(ring.peak_gb_s, 80);
}

TEST(PeerWires, links_of_their_own_add_up) {
  Machine machine = machine_with_gpus(3);
  give_links(machine, 0, {to_gpu(1), to_gpu(1), to_gpu(2)});
  give_links(machine, 1, {to_gpu(0), to_gpu(0), to_gpu(2)});
  give_links(machine, 2, {to_gpu(0), to_gpu(1)});
  const Carried all = carried_between_gpus(machine, all_pairs(machine, 3, 0.8));
  EXPECT_DOUBLE_EQ(all.limit_gb_s, 8 * 25);
  EXPECT_DOUBLE_EQ(all.peak_gb_s, 0.8 * 8 * 25);
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
namespace {

// What the families of several transfers at once list for machines with GPUs, which a test need not have.

using test::text_of;

std::vector<Benchmark> together_cases(const Machine& machine, const Family& family, Preset preset) {
  return test::listed({family}, machine, preset, false);
}

TEST(Collectives, every_pattern_has_both_methods_in_every_preset) {
  for (const Preset preset : {Preset::smoke, Preset::quick, Preset::full}) {
    std::map<std::string, std::set<std::string>> methods;
    for (const Benchmark& benchmark :
         together_cases(test::machine_with_gpus(3), transfer_collective(), preset)) {
      EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
      methods[text_of(benchmark, "pattern")].insert(text_of(benchmark, "method"));
    }
    for (const char* pattern : {"all_to_host", "host_to_all", "all_host_duplex", "one_to_all", "all_to_one",
                                "all_from_one", "one_from_all", "all_pairs", "ring"}) {
      EXPECT_EQ(methods[pattern], (std::set<std::string>{"copy_engine", "kernel_copy"}))
          << pattern << " " << name(preset);
    }
    EXPECT_EQ(methods.size(), 9U);
  }
}

TEST(Collectives, both_directions_of_all_gpus_take_the_memory_of_twice_one) {
  std::map<std::string, Needs> needs;
  for (const Benchmark& benchmark :
       together_cases(test::machine_with_gpus(2), transfer_collective(), Preset::acceptance)) {
    needs[text_of(benchmark, "pattern")] = benchmark.needs;
  }
  EXPECT_GT(needs["all_to_host"].host_bytes, 0U);
  EXPECT_EQ(needs["all_host_duplex"].host_bytes, 2 * needs["all_to_host"].host_bytes);
  EXPECT_EQ(needs["all_host_duplex"].device_bytes, 2 * needs["all_to_host"].device_bytes);
}

TEST(Collectives, of_the_host_by_a_kernel_need_mapped_memory_and_others_do_not) {
  Machine machine = test::machine_with_gpus(2);
  machine.environment.gpus[1].cuda->can_map_host_memory = false;
  for (const Benchmark& benchmark : together_cases(machine, transfer_collective(), Preset::quick)) {
    const bool maps = text_of(benchmark, "pattern").find("host") != std::string::npos &&
                      text_of(benchmark, "method") == "kernel_copy";
    EXPECT_EQ(benchmark.skip.find("cannot map") != std::string::npos, maps) << benchmark.id.name();
  }
}

TEST(Collectives, between_gpus_need_those_that_fetch_to_reach_the_others) {
  Machine machine = test::machine_with_gpus(2);
  for (cuda::PeerLink& link : machine.runtime.peers) {
    link.access = link.from == 0;  // GPU 1 reaches nobody
  }
  std::map<std::string, bool> runs;
  for (const Benchmark& benchmark : together_cases(machine, transfer_collective(), Preset::quick)) {
    runs[text_of(benchmark, "pattern")] = benchmark.skip.empty();
  }
  EXPECT_TRUE(runs["one_to_all"]);     // GPU 0 sends
  EXPECT_TRUE(runs["one_from_all"]);   // GPU 0 fetches
  EXPECT_FALSE(runs["all_to_one"]);    // GPU 1 sends
  EXPECT_FALSE(runs["all_from_one"]);  // GPU 1 fetches
  EXPECT_TRUE(runs["all_host_duplex"]);
}

// Names of the cases of a family in a preset, on a machine whose GPU has bulk copies or not.
std::map<std::string, std::string> skips_by_name(const Family& family, Preset preset, int compute_major) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.gpus[0].cuda->compute_major = compute_major;
  std::map<std::string, std::string> found;
  for (const Benchmark& benchmark : together_cases(machine, family, preset)) {
    EXPECT_EQ(benchmark.impossible, "") << benchmark.id.name();
    EXPECT_TRUE(found.emplace(benchmark.id.name(), benchmark.skip).second) << benchmark.id.name();
  }
  return found;
}

TEST(BulkCopies, are_told_by_their_names_and_others_have_the_names_that_they_had) {
  const auto names = skips_by_name(transfer_kernel_copy(), Preset::quick, 9);
  EXPECT_TRUE(names.contains("transfer/kernel_copy/pinned_to_gpu/numa:0/gpu:0/bytes:4096"));
  EXPECT_TRUE(names.contains(
      "transfer/kernel_copy/pinned_to_gpu/bulk/numa:0/gpu:0/chunk:6144/stages:32/blocks:2/bytes:67108864"));
  const auto saturations = skips_by_name(grain_saturation(), Preset::full, 9);
  EXPECT_TRUE(saturations.contains("grain/saturation/read/numa:0/gpu:0/width:4/bytes:67108864"));
  EXPECT_TRUE(
      saturations.contains("grain/saturation/read/bulk/numa:0/gpu:0/chunk:6144/stages:32/bytes:67108864"));
  EXPECT_TRUE(saturations.contains(
      "grain/saturation/write/bulk/numa:0/gpu:0/chunk:6144/stages:32/blocks:2/bytes:67108864"));
  EXPECT_TRUE(saturations.contains("grain/saturation/write/numa:0/gpu:0/width:16/blocks:2/bytes:67108864"));
}

TEST(BulkCopies, need_a_gpu_that_has_them_and_nothing_else_does) {
  for (const Family& family : {transfer_kernel_copy(), grain_saturation(), contention(), transfer_duplex()}) {
    std::size_t bulk = 0;
    for (const auto& [name, skip] : skips_by_name(family, Preset::full, 8)) {
      const bool needs = name.find("/bulk/") != std::string::npos;
      bulk += needs ? 1 : 0;
      if (name.find("gpu_gpu") == std::string::npos) {
        EXPECT_EQ(skip.find("no bulk copies") != std::string::npos, needs) << name << ": " << skip;
      }
    }
    EXPECT_GT(bulk, 0U) << family.name;
    for (const auto& [name, skip] : skips_by_name(family, Preset::full, 9)) {
      EXPECT_EQ(skip.find("no bulk copies"), std::string::npos) << name;
    }
  }
}

TEST(BulkCopies, what_has_none_says_so) {
  const auto left_out = [](const Family& family, std::vector<std::pair<std::string, std::string>> axes) {
    const Machine machine = test::machine_with_gpus(1);
    Scope scope = make_scope(Preset::quick, gpu_targets(machine, {}), false, {0});
    scope.axes = std::move(axes);
    std::set<std::string> reasons;
    EXPECT_TRUE(list_all({family}, machine, scope, &reasons).empty());
    return reasons;
  };
  using Reasons = std::set<std::string>;
  EXPECT_EQ(left_out(transfer_kernel_copy(), {{"load", "vector"}, {"chunk", "2KiB"}}),
            Reasons{"chunk and stages are of bulk copies: load is bulk"});
  EXPECT_EQ(left_out(grain_saturation(), {{"load", "bulk"}, {"width", "4"}}),
            Reasons{"a bulk copy has no width of an access: width is 16"});
  EXPECT_EQ(left_out(contention(), {{"load", "bulk"}, {"method", "copy_engine"}, {"blocks", "usual"}}),
            Reasons{"only a kernel that copies does so in bulk: method is kernel_copy"});
  EXPECT_EQ(left_out(contention(), {{"load", "vector"}, {"method", "copy_engine"}, {"blocks", "2"}}),
            Reasons{"blocks are a kernel's: method is kernel_copy"});
}

TEST(Duplex, between_gpus_has_every_way_to_issue_and_none_of_what_cannot_be) {
  std::map<std::string, std::set<std::string>> ways;
  for (const Benchmark& benchmark :
       together_cases(test::machine_with_gpus(2), transfer_duplex(), Preset::quick)) {
    if (text_of(benchmark, "between") != "gpu_gpu") {
      continue;
    }
    EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    const std::string method = text_of(benchmark, "method");
    const bool migrates = method == "demand" || method == "prefetch";
    ways[method].insert(migrates ? "" : text_of(benchmark, "direction") + " " + text_of(benchmark, "access"));
  }
  using Ways = std::set<std::string>;
  EXPECT_EQ(ways["copy_engine"], (Ways{"read on", "write on", "write off"}));
  EXPECT_EQ(ways["kernel_copy"], (Ways{"read on", "write on"}));
  EXPECT_EQ(ways["zero_copy"], (Ways{"read on", "write on", "read_write on"}));
  EXPECT_EQ(ways["demand"], Ways{""});
  EXPECT_EQ(ways["prefetch"], Ways{""});
}

TEST(Duplex, staged_copies_run_between_gpus_that_cannot_reach_each_other) {
  Machine machine = test::machine_with_gpus(2);
  for (cuda::PeerLink& link : machine.runtime.peers) {
    link.access = false;
  }
  std::size_t staged = 0;
  for (const Benchmark& benchmark : together_cases(machine, transfer_duplex(), Preset::quick)) {
    if (text_of(benchmark, "between") == "gpu_gpu" && text_of(benchmark, "method") == "copy_engine") {
      const bool off = text_of(benchmark, "access") == "off";
      staged += off ? 1 : 0;
      EXPECT_EQ(benchmark.skip.empty(), off) << benchmark.id.name();
    }
  }
  EXPECT_GT(staged, 0U);
}

}  // namespace
namespace {

// What grain/pieces lists for machines with a GPU, which a test need not have.

std::vector<Benchmark> grain_cases(const Machine& machine, Preset preset) {
  return test::listed({grain_pieces()}, machine, preset, false);
}

std::uint64_t number(const Benchmark& benchmark, const char* key) {
  return static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis(key)));
}

std::map<std::string, std::set<std::uint64_t>> grains_by_method(Preset preset) {
  std::map<std::string, std::set<std::uint64_t>> found;
  for (const Benchmark& benchmark : grain_cases(test::machine_with_gpus(1), preset)) {
    EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    found[text_of(benchmark, "method") + " " + text_of(benchmark, "path")].insert(number(benchmark, "grain"));
  }
  return found;
}

TEST(Grains, every_preset_has_every_method_and_each_on_the_paths_that_it_has) {
  for (const Preset preset :
       {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
    std::set<std::string> found;
    for (const auto& [method, grains] : grains_by_method(preset)) {
      found.insert(method);
    }
    const std::set<std::string> wanted{"copy_engine host_to_gpu",
                                       "copy_engine gpu_to_host",
                                       "pageable_copy host_to_gpu",
                                       "pageable_copy gpu_to_host",
                                       "batch host_to_gpu",
                                       "batch gpu_to_host",
                                       "graph host_to_gpu",
                                       "graph gpu_to_host",
                                       "zero_copy_random host_to_gpu",
                                       "kernel_write_random gpu_to_host",
                                       "managed_prefetch host_to_gpu",
                                       "managed_prefetch gpu_to_host",
                                       "managed_prefetch_batch host_to_gpu",
                                       "managed_prefetch_batch gpu_to_host",
                                       "managed_demand host_to_gpu"};
    EXPECT_EQ(found, wanted) << name(preset);
  }
}

TEST(Grains, a_full_run_goes_from_32_bytes_to_64_mebibytes_and_paper_has_every_octave) {
  for (const Preset preset : {Preset::full, Preset::paper}) {
    for (const auto& [method, grains] : grains_by_method(preset)) {
      const bool prefetch = method.starts_with("managed_prefetch");
      const bool slow =
          method.starts_with("managed") || method.starts_with("batch") || method.starts_with("graph");
      EXPECT_EQ(*grains.begin(), prefetch ? 4 * kKiB : 32) << method;
      EXPECT_EQ(*grains.rbegin(), 64 * kMiB) << method;
      const std::size_t every = prefetch ? 15 : 22;
      const std::size_t fewer = prefetch ? 8 : 11;
      EXPECT_EQ(grains.size(), preset == Preset::full && slow ? fewer : every) << method;
    }
  }
}

TEST(Grains, a_quick_run_asks_a_few_of_the_methods_that_take_longest_to_prepare) {
  for (const auto& [method, grains] : grains_by_method(Preset::quick)) {
    if (method.starts_with("batch") || method.starts_with("graph")) {
      EXPECT_EQ(grains.size(), 3U) << method;
    } else if (method.starts_with("managed") || method.starts_with("pageable")) {
      EXPECT_LE(grains.size(), 4U) << method;
      EXPECT_GE(grains.size(), 3U) << method;
    }
  }
}

TEST(Grains, bytes_are_whole_pieces_and_demand_is_of_memory_that_holds_each_in_a_block_of_its_own) {
  for (const Benchmark& benchmark : grain_cases(test::machine_with_gpus(1), Preset::full)) {
    const std::uint64_t grain = number(benchmark, "grain");
    const std::uint64_t bytes = number(benchmark, "bytes");
    EXPECT_EQ(bytes % grain, 0U) << benchmark.id.name();
    EXPECT_LE(bytes, 64 * kMiB) << benchmark.id.name();
    if (text_of(benchmark, "method") == "managed_demand") {
      EXPECT_EQ(benchmark.needs.managed_bytes, 64 * kMiB) << benchmark.id.name();
      EXPECT_EQ(bytes, std::min<std::uint64_t>(32 * grain, 64 * kMiB)) << benchmark.id.name();
    }
    if (text_of(benchmark, "method") == "batch" || text_of(benchmark, "method") == "graph") {
      EXPECT_GE(benchmark.needs.host_bytes, 2 * bytes) << benchmark.id.name();
      EXPECT_GE(benchmark.needs.device_bytes, 2 * bytes) << benchmark.id.name();
    }
  }
}

// One question, of pieces of one size, can be asked of a copy each, of a batch and of a kernel.
TEST(Grains, are_those_of_pages_and_of_the_gpus_memory_too) {
  for (const Preset preset : {Preset::quick, Preset::full}) {
    std::map<std::string, std::set<std::uint64_t>> sizes;
    for (const Benchmark& benchmark : test::listed({grain_pieces(), grain_gpu_memory(), shape_pages()},
                                                   test::machine_with_gpus(2), preset, false)) {
      const std::string& family = benchmark.id.family;
      const bool own = family == "grain/gpu_memory";
      const bool pages = family == "shape/pages";
      if (pages &&
          (text_of(benchmark, "method") != "kernel" || text_of(benchmark, "path") == "gpu_to_peer")) {
        continue;
      }
      sizes[family + " " + text_of(benchmark, own ? "memory" : "method") + " " +
            text_of(benchmark, own ? "direction" : "path")]
          .insert(number(benchmark, pages ? "page" : "grain"));
    }
    EXPECT_TRUE(sizes.contains("shape/pages kernel host_to_gpu"));
    for (const auto& [where, there] : sizes) {
      for (const std::uint64_t size : {4 * kKiB, 64 * kKiB}) {
        EXPECT_TRUE(there.contains(size)) << where << " " << size << " " << name(preset);
      }
    }
  }
}

TEST(Grains, every_transfer_of_a_grain_can_be) {
  for (const GrainMethod& method : grain_methods()) {
    for (std::uint64_t grain = 4 * kKiB; grain <= kLargestGrain; grain *= 2) {
      EXPECT_EQ(why_no_grain(method, grain), "") << method.name << " " << grain;
      EXPECT_NO_THROW(require_possible(grain_transfer(method, 0, 0, grain))) << method.name << " " << grain;
    }
  }
}

TEST(Grains, the_user_chooses_are_taken_by_the_methods_that_have_them) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = {{"grain", "4,16,3KiB,8KiB"}};
  std::map<std::string, std::set<std::uint64_t>> grains;
  std::set<std::string> left_out;
  for (const Benchmark& benchmark : list_all({grain_pieces()}, machine, scope, &left_out)) {
    grains[text_of(benchmark, "method")].insert(number(benchmark, "grain"));
  }
  using Sizes = std::set<std::uint64_t>;
  EXPECT_EQ(grains["copy_engine"], (Sizes{4, 16, 8 * kKiB}));
  EXPECT_EQ(grains["zero_copy_random"], (Sizes{16, 8 * kKiB}));  // a lane loads 16 bytes
  EXPECT_EQ(grains["managed_prefetch"], Sizes{8 * kKiB});        // which moves pages
  EXPECT_TRUE(left_out.contains("a piece is a power of two of bytes, not 3072"));
}

TEST(ZeroCopy, of_memory_that_is_not_flushed_says_so) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::smoke, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  const auto flushed = list_all({transfer_zero_copy()}, machine, scope);
  scope.axes = {{"flush", "off"}};
  std::set<std::string> left_out;
  const auto unflushed = list_all({transfer_zero_copy()}, machine, scope, &left_out);
  ASSERT_FALSE(unflushed.empty());
  EXPECT_LT(unflushed.size(), flushed.size());
  for (const Benchmark& benchmark : unflushed) {
    EXPECT_EQ(text_of(benchmark, "flush"), "off");
    EXPECT_NE(benchmark.explanation.limits.find("CPU's caches"), std::string::npos);
  }
  for (const Benchmark& benchmark : flushed) {
    EXPECT_EQ(benchmark.id.name().find("flush"), std::string::npos);
  }
  EXPECT_TRUE(left_out.contains("managed memory that is mapped is never flushed: flush is on"));
}

TEST(Grains, of_a_kernel_go_one_way) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = {{"method", "zero_copy_random"}, {"path", "gpu_to_host"}};
  std::set<std::string> left_out;
  EXPECT_TRUE(list_all({grain_pieces()}, machine, scope, &left_out).empty());
  EXPECT_TRUE(left_out.contains("zero_copy_random goes the other way: path is not gpu_to_host"));
}

TEST(Grains, each_method_says_how_it_is_timed) {
  std::set<std::string> timed;
  for (const GrainMethod& method : grain_methods()) {
    timed.insert(explain(method).timed);
  }
  // A copy, one of pageable memory, a batch, a graph, a kernel, a prefetch, a batch of them, a fault.
  EXPECT_EQ(timed.size(), 8U);
}

// Every case is listed, and those of a method that is not there say why.
void expect_skips(const Machine& machine, const std::set<std::string>& methods, const std::string& reason) {
  std::set<std::string> skipped;
  for (const Benchmark& benchmark : grain_cases(machine, Preset::quick)) {
    if (!benchmark.skip.empty()) {
      skipped.insert(text_of(benchmark, "method"));
      EXPECT_NE(benchmark.skip.find(reason), std::string::npos) << benchmark.skip;
    }
  }
  EXPECT_EQ(skipped, methods);
}

TEST(Grains, batches_need_cuda_12_8_and_those_of_prefetches_13_of_toolkit_and_driver) {
  for (const bool old_toolkit : {true, false}) {
    Machine machine = test::machine_with_gpus(1);
    (old_toolkit ? machine.runtime.toolkit_version : machine.runtime.driver_version) = 12040;
    expect_skips(machine, {"batch", "managed_prefetch_batch"}, "needs CUDA 1");
    (old_toolkit ? machine.runtime.toolkit_version : machine.runtime.driver_version) = 12080;
    expect_skips(machine, {"managed_prefetch_batch"}, "needs CUDA 13.0");
  }
}

TEST(Grains, managed_memory_that_does_not_migrate_is_skipped) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.gpus[0].cuda->concurrent_managed_access = false;
  expect_skips(machine, {"managed_prefetch", "managed_prefetch_batch", "managed_demand"},
               "does not migrate on demand");
}

TEST(Grains, kernels_need_mapped_memory_and_copies_do_not) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.driver.confidential_computing = true;
  expect_skips(machine, {"zero_copy_random", "kernel_write_random"}, "confidential computing");
}

// transfer/managed: its methods, hints and refusals.

std::vector<Benchmark> managed_cases(const std::vector<std::pair<std::string, std::string>>& axes,
                                     std::set<std::string>* left_out = nullptr, int version = 13000) {
  Machine machine = test::machine_with_gpus(1);
  machine.runtime.driver_version = version;
  Scope scope =
      make_scope(Preset::smoke, gpu_targets(machine, {}), false, {machine.topology.nodes().front().id});
  scope.axes = axes;
  return list_all({transfer_managed()}, machine, scope, left_out);
}

std::set<std::string> managed_names(const std::vector<std::pair<std::string, std::string>>& axes) {
  std::set<std::string> names;
  for (const Benchmark& benchmark : managed_cases(axes)) {
    EXPECT_EQ(benchmark.impossible, "") << benchmark.id.name();
    EXPECT_EQ(benchmark.skip, "") << benchmark.id.name();
    std::string name = benchmark.id.name();
    names.insert(name.erase(name.find("numa:"), name.find("gpu:") + 6 - name.find("numa:")));
  }
  return names;
}

TEST(Managed, cases_without_a_hint_or_pieces_have_the_names_that_they_had) {
  using Names = std::set<std::string>;
  EXPECT_EQ(managed_names({{"method", "demand,prefetch"},
                           {"path", "host_to_gpu"},
                           {"hint", "none"},
                           {"grain", "whole"},
                           {"host_threads", "1"},
                           {"bytes", "1MiB"}}),
            (Names{"transfer/managed/demand/host_to_gpu/bytes:1048576",
                   "transfer/managed/prefetch/host_to_gpu/bytes:1048576"}));
  EXPECT_EQ(managed_names({{"method", "demand,prefetch_batch"},
                           {"path", "host_to_gpu"},
                           {"hint", "none,accessed_by"},
                           {"grain", "whole,64KiB"},
                           {"host_threads", "1"},
                           {"bytes", "1MiB"}}),
            (Names{"transfer/managed/demand/host_to_gpu/bytes:1048576",
                   "transfer/managed/demand/host_to_gpu/hint:accessed_by/bytes:1048576",
                   "transfer/managed/prefetch_batch/host_to_gpu/bytes:1048576",
                   "transfer/managed/prefetch_batch/host_to_gpu/grain:65536/bytes:1048576"}));
}

TEST(Managed, what_has_no_hint_or_no_pieces_says_so) {
  using Axes = std::vector<std::pair<std::string, std::string>>;
  const std::vector<std::pair<std::string, Axes>> reasons{
      {"hints are of pages that a GPU asks for: method is demand, path host_to_gpu",
       {{"method", "prefetch"}, {"hint", "read_mostly"}, {"host_threads", "1"}}},
      {"hints are of pages that a GPU asks for: method is demand, path host_to_gpu",
       {{"method", "demand"}, {"path", "gpu_to_host"}, {"hint", "prefetch"}}},
      {"pieces are of a batch: grain is whole, or method prefetch_batch, discard or discard_and_prefetch; "
       "one "
       "by one they are grain/pieces",
       {{"method", "prefetch"}, {"grain", "64KiB"}, {"host_threads", "1"}}},
      {"a batch is of whole pages: grain is a multiple of 4 KiB",
       {{"method", "discard"}, {"grain", "6KiB"}, {"host_threads", "1"}}},
      {"a piece is no larger than all of the pages: grain is bytes at most",
       {{"method", "prefetch_batch"}, {"grain", "2MiB"}, {"bytes", "1MiB"}, {"host_threads", "1"}}}};
  for (const auto& [reason, axes] : reasons) {
    std::set<std::string> left_out;
    EXPECT_TRUE(managed_cases(axes, &left_out).empty()) << reason;
    EXPECT_TRUE(left_out.contains(reason)) << reason;
  }
}

TEST(Managed, batches_and_discards_need_cuda_13) {
  std::set<std::string> skipped;
  for (const Benchmark& benchmark : managed_cases({}, nullptr, 12090)) {
    if (!benchmark.skip.empty()) {
      EXPECT_EQ(benchmark.skip, "needs CUDA 13.0; the driver is for 12.9") << benchmark.id.name();
      skipped.insert(text_of(benchmark, "method"));
    }
  }
  EXPECT_EQ(skipped, (std::set<std::string>{"prefetch_batch", "discard", "discard_and_prefetch"}));
}

TEST(Managed, every_method_and_every_hint_says_what_is_timed) {
  std::set<std::string> timed;
  std::set<std::string> measures;
  for (const Benchmark& benchmark : managed_cases({{"path", "host_to_gpu"}})) {
    timed.insert(benchmark.explanation.timed);
    measures.insert(benchmark.explanation.measures);
  }
  // On demand, under a hint, under the hint prefetch; each of four calls.
  EXPECT_EQ(timed.size(), 7U);
  EXPECT_EQ(measures.size(), 1U + 5U + 4U);  // five hints are told from one another
}

transfer::Transfer demand(std::uint64_t bytes, std::uint64_t piece, std::uint64_t stride) {
  transfer::Transfer transfer = grain_transfer(grain_methods().back(), 0, 0, 128);
  transfer.bytes = bytes;
  transfer.piece_bytes = piece;
  transfer.stride_bytes = stride;
  return transfer;
}

TEST(PiecesOnDemand, that_overlap_or_are_no_multiple_of_16_bytes_are_refused) {
  EXPECT_NO_THROW(require_possible(demand(64, 32, 4096)));
  EXPECT_THROW(require_possible(demand(64, 32, 16)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 32, 0)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 0, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(80, 32, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(40, 20, 4096)), UsageError);
  EXPECT_THROW(require_possible(demand(64, 32, 4100)), UsageError);
}

TEST(PiecesOnDemand, that_lie_apart_come_by_faults_from_the_host_alone) {
  transfer::Transfer prefetch = demand(64, 32, 4096);
  prefetch.engine = transfer::Engine::prefetch;
  EXPECT_THROW(require_possible(prefetch), UsageError);
  transfer::Transfer back = demand(64, 32, 4096);
  std::swap(back.source, back.destination);
  EXPECT_THROW(require_possible(back), UsageError);
  transfer::Transfer peer = demand(64, 32, 4096);
  peer.source = transfer::Endpoint::gpu(transfer::Placement::managed, 1);
  EXPECT_THROW(require_possible(peer), UsageError);
}

TEST(PiecesOnDemand, take_the_memory_that_they_lie_in) {
  EXPECT_EQ(demand(64, 32, 4096).memory_bytes(), 8192U);
  transfer::Transfer copy;
  copy.bytes = 64;
  copy.piece_bytes = 32;
  EXPECT_EQ(copy.memory_bytes(), 64U);
}

}  // namespace
}  // namespace grainscope::harness
