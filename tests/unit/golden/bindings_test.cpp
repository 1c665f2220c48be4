// Which CPUs and nodes threads and buffers of each case are bound to, and that the thread is left as it was,
// on machines that are not at hand: tests/golden/bindings_host.txt and bindings_gpu.txt. Cases of a GPU come
// as far as a machine without a driver lets them: to what they bind before the GPU is asked for anything.

#include <cstdlib>
#include <set>

#include "../harness/fakes.hpp"
#include "../harness/stored_machines.hpp"
#include "fake_kernel.hpp"
#include "families.hpp"
#include "golden_text.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using test::FakeKernel;
using test::MachineTree;

// Before anything asks for a GPU.
const bool kNoGpu = setenv("CUDA_VISIBLE_DEVICES", "", 1) == 0;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

// Of each family what takes no long preparation and starts no process, and is bound by itself; huge pages are
// this machine's or not.
bool is_taken(const Benchmark& benchmark) {
  static const std::set<std::string> kTaken{
      "host/memcpy",          "host/latency",          "host/first_touch",
      "host/flush",           "transfer/memcpy",       "transfer/host_copy",
      "transfer/kernel_copy", "transfer/zero_copy",    "transfer/managed",
      "transfer/duplex",      "transfer/peer",         "latency/chase",
      "latency/flag",         "latency/managed_touch", "call",
      "shape/copy",           "shape/batch",           "grain/pieces"};
  const std::string name = benchmark.id.name();
  return kTaken.contains(benchmark.id.family) && benchmark.skip.empty() &&
         name.find("huge") == std::string::npos && name.find("hugetlb") == std::string::npos;
}

bool is_of_host(const Benchmark& benchmark) {
  return benchmark.id.family.starts_with("host/");
}

// The first of each family at each place, and with each number of threads.
std::string kind_of(const Benchmark& benchmark) {
  std::string kind = benchmark.id.family;
  for (const Site& site : benchmark.id.site) {
    kind += "/" + site.key + ":" + std::to_string(site.value);
  }
  for (const Axis& axis : benchmark.id.axes) {
    kind += axis.key == "threads" || axis.key == "host_threads" ? "/threads:" + to_string(axis.value) : "";
  }
  return kind;
}

class Bindings : public testing::Test {
 protected:
  void list(const std::string& title, const Machine& machine, bool of_host) {
    lines_.push_back("# " + title);
    const Scope scope = make_scope(Preset::smoke, gpu_targets(machine, {}), true, node_targets(machine, {}));
    std::set<std::string> kinds;
    for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
      if (is_taken(benchmark) && is_of_host(benchmark) == of_host &&
          kinds.insert(kind_of(benchmark)).second) {
        run(machine, benchmark);
      }
    }
  }

  void run(const Machine& machine, const Benchmark& benchmark) {
    const FakeKernel kernel(machine.topology.allowed_cpus());
    const std::string before = FakeKernel::now();
    LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
    cuda::ManagedBudget managed;
    Session session(machine, {.budget_s = 0, .warmups = 0}, peaks, &managed, [] { return false; });
    std::string end;
    try {
      static_cast<void>(benchmark.run(session));
    } catch (const std::exception& error) {
      end = is_of_host(benchmark) ? error.what() : "";
    }
    std::string line = benchmark.id.name() + ": " + joined(kernel.of_caller());
    for (const auto& [what, bound] :
         {std::pair{"other threads: ", joined(kernel.of_workers())},
          std::pair{"buffers: ", joined(kernel.of_buffers())}, std::pair{"ended with: ", end}}) {
      line += bound.empty() ? "" : " | " + (what + bound);
    }
    EXPECT_EQ(FakeKernel::now(), before) << benchmark.id.name();
    lines_.push_back(line);
  }

  void list_all_machines(bool of_host) {
    for (const char* name : {"two_sockets_four_gpus", "four_sockets_eight_gpus", "two_gpus_no_peer_access"}) {
      MachineTree tree;
      list(name, test::write_machine(test::stored_machines().at(name), tree), of_host);
    }
    MachineTree tree;
    Machine machine = test::write_machine({.sockets = 2, .gpus = 2}, tree);
    tree.file("proc/self/status", "Cpus_allowed_list:\t2-3,5-6\nMems_allowed_list:\t0-1");
    machine.topology = Topology::read(tree.roots());
    list("two sockets of which CPUs 2-3 and 5-6 are allowed", machine, of_host);
  }

  std::vector<std::string> lines_;
};

TEST_F(Bindings, of_cases_of_the_host_are_as_they_were) {
  if (!can_flush() || base_page_bytes() != 4096) {
    GTEST_SKIP() << "names and cases are those of machines that flush, with pages of 4 KiB";
  }
  list_all_machines(true);
  test::expect_golden("bindings_host.txt", lines_);
}

TEST_F(Bindings, of_cases_of_a_gpu_are_as_they_were) {
  ASSERT_TRUE(kNoGpu);
  if (cuda::read_runtime().why_none.starts_with("built without CUDA")) {
    GTEST_SKIP() << "built without CUDA";
  }
  list_all_machines(false);
  test::expect_golden("bindings_gpu.txt", lines_);
}

}  // namespace
}  // namespace grainscope::harness
