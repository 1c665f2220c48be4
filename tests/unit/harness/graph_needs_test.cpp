// What cases that load a graph say they need of host memory, against what loading it takes.

#include <gtest/gtest.h>
#include <omp.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "traversal/loaded_graph.hpp"

namespace grainscope::harness {
namespace {

// Of this process, in bytes: "VmRSS" or "VmHWM", its most.
std::uint64_t resident(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(what + ":", 0) == 0) {
      return std::stoull(line.substr(what.size() + 1)) * kKiB;
    }
  }
  return 0;
}

// Makes the most that is resident what is resident now; false where the kernel does not let us.
bool forget_most_resident() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return clear.good() && resident("VmHWM") <= resident("VmRSS") + kMiB;
}

TEST(GraphNeeds, are_the_most_that_loading_takes) {
  // Each thread has places of its own, which count in graphs as small as these alone.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(2);
  for (const auto& [text, order] : {std::pair{"kron:19", graph::Order::original},
                                    {"kron:19", graph::Order::degree},
                                    {"urand:19", graph::Order::degree},
                                    {"web:19", graph::Order::original}}) {
    const graph::GraphSpec spec = graph::parse_graph_spec(text);
    if (!forget_most_resident()) {
      GTEST_SKIP() << "/proc/self/clear_refs cannot be written: the most that was resident is not known";
    }
    const std::uint64_t before = resident("VmRSS");
    const LoadedGraph graph(spec, order, "");
    const auto taken = static_cast<double>(resident("VmHWM") - before);
    const auto said = static_cast<double>(host_bytes(spec, order, 0));
    EXPECT_LT(taken, 1.02 * said) << text;
    EXPECT_GT(taken, 0.6 * said) << text << ": cases would be skipped that there is room for";
  }
  omp_set_num_threads(threads);
}

TEST(GraphNeeds, leave_room_for_scale_27_on_a_host_of_128_gib) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = 125 * kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:27")};
  std::set<std::string> algorithms;
  for (const Benchmark& benchmark : list_all({lean_traversal(), traversal()}, machine, scope)) {
    EXPECT_EQ(benchmark.skip.find("of host memory"), std::string::npos)
        << benchmark.id.name() << ": " << benchmark.skip;
    EXPECT_GT(benchmark.needs.host_bytes, std::uint64_t{8} << 32) << benchmark.id.name();
    algorithms.insert(benchmark.id.family);
  }
  EXPECT_EQ(algorithms.size(), 8U);
}

TEST(GraphNeeds, of_managed_edges_count_where_the_host_keeps_them) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:26")};
  std::map<std::string, std::uint64_t> needs;
  for (const Benchmark& benchmark : list_all({traversal()}, machine, scope)) {
    if (benchmark.id.family == "traversal/sssp" && to_string(benchmark.id.axis("edge")) == "8") {
      needs[to_string(benchmark.id.axis("placement"))] = benchmark.needs.host_bytes;
    }
  }
  EXPECT_EQ(needs["managed"], needs["mapped"]);
  EXPECT_LT(needs["device"], needs["managed"]);
}

TEST(GraphNeeds, of_cases_that_are_too_large_keep_nobody_elses_graph) {
  Machine machine = test::machine_with_gpus(1);
  machine.environment.memory.available.meminfo_bytes = kGiB;
  machine.environment.memory.available.cgroup_bytes.reset();
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:27")};
  for (const Benchmark& benchmark : list_all({lean_traversal()}, machine, scope)) {
    EXPECT_NE(benchmark.skip, "");
    EXPECT_FALSE(benchmark.run) << benchmark.id.name() << " holds its claim";
  }
}

}  // namespace
}  // namespace grainscope::harness
