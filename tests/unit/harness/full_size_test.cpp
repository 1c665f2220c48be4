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

Machine machine_of_one_gpu() {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 120 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  return machine;
}

// Cases by family, for peers and second GPUs left out.
std::map<std::string, std::size_t> cases_of(Preset preset) {
  const Machine machine = machine_of_one_gpu();
  const int node = machine.topology.usable_nodes().front();
  std::map<std::string, std::size_t> cases;
  for (const Family& family : all_families()) {
    for (const Benchmark& benchmark :
         family.list(machine, make_scope(preset, gpu_targets(machine, {}), false, {node}))) {
      if (benchmark.skip.find("two GPUs") == std::string::npos) {
        ++cases[benchmark.id.family];
      }
    }
  }
  return cases;
}

TEST(FullSize, of_each_family_is_what_a_quarter_of_an_hour_has_room_for) {
  const std::map<std::string, std::size_t> expected{};
  std::map<std::string, std::size_t> found = cases_of(Preset::full);
  // By the number of the CPUs: teams of 1, 4, 16, ... threads.
  for (const char* family : {"host/memcpy", "host/first_touch", "transfer/managed", "call"}) {
    EXPECT_GT(found[family], 0U) << family;
    found.erase(family);
  }
  EXPECT_EQ(found, expected);
}

TEST(FullSize, every_family_of_paper_is_there) {
  const auto full = cases_of(Preset::full);
  for (const auto& [family, cases] : cases_of(Preset::paper)) {
    EXPECT_TRUE(full.contains(family)) << family;
  }
}

TEST(FullSize, largest_memory_is_locked_once_by_all_that_read_it) {
  const Machine machine = machine_of_one_gpu();
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
