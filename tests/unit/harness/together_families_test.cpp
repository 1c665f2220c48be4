// What the families of several transfers at once list for machines with GPUs, which a test need not have.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

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
}  // namespace grainscope::harness
