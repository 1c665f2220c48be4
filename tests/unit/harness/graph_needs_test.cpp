// What cases that load a graph say they need of host memory, against what loading it takes.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"
#include "loaded_graph.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kNodeBytes = 128'000'000'000;

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

TEST(GraphNeeds, leave_room_for_scale_27_on_a_host_of_128_gb) {
  const Machine machine = test::machine_with_gpus(1);
  Scope scope =
      make_scope(Preset::paper, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  scope.graphs = {graph::parse_graph_spec("kron:27")};
  std::uint64_t most = 0;
  for (const Family& family : {lean_traversal(), traversal()}) {
    for (const Benchmark& benchmark : family.list(machine, scope)) {
      EXPECT_GT(benchmark.needs.host_bytes, std::uint64_t{8} << 32) << benchmark.id.name();
      most = std::max(most, benchmark.needs.host_bytes);
    }
  }
  EXPECT_LT(most, kNodeBytes * 9 / 10);
}

}  // namespace
}  // namespace grainscope::harness
