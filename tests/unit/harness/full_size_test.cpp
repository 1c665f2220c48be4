// The preset full is for a quarter of an hour on one GPU: how many cases that leaves to each family, so that
// nobody lengthens it unawares. Who adds rows to it measures what they take and raises the number here.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

Machine machine_of_gpus(int count) {
  Machine machine = test::machine_with_gpus(count);
  machine.environment.memory.available.meminfo_bytes = 120 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  return machine;
}

// Cases by family, of one GPU those for peers and second GPUs left out.
std::map<std::string, std::size_t> cases_of(Preset preset, int gpus = 1) {
  const Machine machine = machine_of_gpus(gpus);
  const int node = machine.topology.usable_nodes().front();
  std::map<std::string, std::size_t> cases;
  const Scope scope = make_scope(preset, gpu_targets(machine, {}), false, {node});
  for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
    if (benchmark.skip.find("two GPUs") == std::string::npos) {
      ++cases[benchmark.id.family];
    }
  }
  return cases;
}

TEST(FullSize, of_each_family_is_what_a_quarter_of_an_hour_has_room_for) {
  const std::map<std::string, std::size_t> expected{
      {"contention", 28},
      {"gather", 213},
      {"gather/bag", 14},
      {"grain/gpu_memory", 34},
      {"grain/pieces", 203},
      {"grain/saturation", 4},
      {"host/flush", 22},
      {"host/latency", 20},
      {"host/malloc", 38},
      {"latency/chase", 38},
      {"latency/flag", 1},
      {"latency/managed_touch", 2},
      {"lean/bfs", 27},
      {"lean/cc", 12},
      {"lean/pr", 18},
      {"lean/sssp", 18},
      {"model/bfs", 126},
      {"model/cc", 126},
      {"model/gather", 330},
      {"model/pr", 126},
      {"model/sssp", 126},
      {"model/uvm", 305},
      {"pipeline/graphsage", 60},
      {"reach/gather", 178},
      {"sampling/neighbours", 36},
      {"shape/batch", 156},
      {"shape/copy", 288},
      {"sm_share/gather", 83},
      {"sm_share/split", 66},
      {"tiering/reorder", 6},
      {"tiering/score", 55},
      {"transfer/duplex", 63},
      {"transfer/host_copy", 30},
      {"transfer/kernel_copy", 32},
      {"transfer/local", 26},
      {"transfer/memcpy", 266},
      {"transfer/zero_copy", 106},
      {"traversal/bfs", 42},
      {"traversal/cc", 23},
      {"traversal/pr", 23},
      {"traversal/sssp", 23},
  };
  std::map<std::string, std::size_t> found = cases_of(Preset::full);
  // By the number of the CPUs: teams of 1, 4, 16, ... threads.
  for (const char* family : {"host/memcpy", "host/first_touch", "transfer/managed", "call"}) {
    EXPECT_GT(found[family], 0U) << family;
    found.erase(family);
  }
  EXPECT_EQ(found, expected);
}

// Programs run on the first GPU alone; transfers, latencies and calls on both, and between them.
TEST(FullSize, of_two_gpus_adds_what_five_minutes_have_room_for) {
  const std::map<std::string, std::size_t> expected{{"contention", 28},
                                                    {"gather", 15},
                                                    {"gather/bag", 1},
                                                    {"grain/gpu_memory", 102},
                                                    {"latency/chase", 66},
                                                    {"latency/flag", 3},
                                                    {"latency/managed_touch", 4},
                                                    {"pipeline/graphsage", 16},
                                                    {"reach/gather", 18},
                                                    {"sampling/neighbours", 12},
                                                    {"shape/batch", 104},
                                                    {"shape/copy", 260},
                                                    {"transfer/collective", 208},
                                                    {"transfer/duplex", 189},
                                                    {"transfer/kernel_copy", 32},
                                                    {"transfer/local", 26},
                                                    {"transfer/memcpy", 266},
                                                    {"transfer/peer", 292},
                                                    {"transfer/zero_copy", 106}};
  const std::map<std::string, std::size_t> one = cases_of(Preset::full);
  std::map<std::string, std::size_t> more;
  for (const auto& [family, cases] : cases_of(Preset::full, 2)) {
    const auto alone = one.find(family);
    if (const std::size_t before = alone == one.end() ? 0 : alone->second; cases != before) {
      more[family] = cases - before;
    }
  }
  for (const char* family : {"transfer/managed", "call"}) {  // by the number of the CPUs
    EXPECT_EQ(more.erase(family), 1U) << family;
  }
  EXPECT_EQ(more, expected);
}

TEST(FullSize, every_family_of_paper_is_there) {
  const auto full = cases_of(Preset::full);
  for (const auto& [family, cases] : cases_of(Preset::paper)) {
    EXPECT_TRUE(full.contains(family)) << family;
  }
}

TEST(FullSize, largest_memory_is_locked_once_by_all_that_read_it) {
  const Machine machine = machine_of_gpus(1);
  const int node = machine.topology.usable_nodes().front();
  const Scope scope = make_scope(Preset::full, gpu_targets(machine, {}), false, {node});
  bool begun = false;
  bool ended = false;
  for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
    const std::string& family = benchmark.id.family;
    const bool walls = family == "reach/gather" && to_string(benchmark.id.axis("memory")) == "host_alloc";
    begun = begun || walls;
    ended = ended || (begun && family == "shape/copy");
    if (begun && !ended && family == "reach/gather") {
      EXPECT_TRUE(walls) << benchmark.id.name() << " would drop what the walls locked";
    }
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace grainscope::harness
