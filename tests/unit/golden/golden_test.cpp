#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../harness/fakes.hpp"
#include "../system/machine_tree.hpp"
#include "fake_kernel.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/warnings.hpp"
#include "harness/filter.hpp"
#include "harness/selection.hpp"
#include "host_pages.hpp"

namespace grainscope::test {

// Holds `lines` to the file `name` of tests/golden. GRAINSCOPE_NEW_GOLDEN=1 writes it anew; `git diff` then
// shows what changed.
inline void expect_golden(const std::string& name, const std::vector<std::string>& lines) {
  const std::string path = std::string(GRAINSCOPE_GOLDEN) + "/" + name;
  if (std::getenv("GRAINSCOPE_NEW_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const std::string& line : lines) {
      file << line << '\n';
    }
  }
  std::ifstream file(path);
  std::vector<std::string> before;
  for (std::string line; std::getline(file, line);) {
    before.push_back(line);
  }
  for (std::size_t i = 0; i < std::max(before.size(), lines.size()); ++i) {
    const std::string was = i < before.size() ? before[i] : "(its end)";
    const std::string is = i < lines.size() ? lines[i] : "(its end)";
    ASSERT_EQ(is, was) << name << ", line " << i + 1;
  }
}

}  // namespace grainscope::test

namespace grainscope::harness {
namespace {

// Which CPUs and nodes threads and buffers of each case are bound to, and that the thread is left as it was,
// on machines that are not at hand: tests/golden/bindings_host.txt and bindings_gpu.txt. Cases of a GPU come
// as far as a machine without a driver lets them: to what they bind before the GPU is asked for anything.

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
      "shape/copy",           "shape/pages",           "grain/pieces"};
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

namespace {

enum class Flush { real, nothing, first_line };
Flush flush = Flush::real;
bool can = true;

}  // namespace

// Names of the linker's, as the Itanium ABI spells flush_cache(const void*, size_t, int) and can_flush().
extern "C" {
void __real__ZN10grainscope11flush_cacheEPKvmi(const void* data, std::size_t bytes, int threads);
void __wrap__ZN10grainscope11flush_cacheEPKvmi(const void* data, std::size_t bytes, int threads) {
  if (flush != Flush::nothing) {
    __real__ZN10grainscope11flush_cacheEPKvmi(
        data, flush == Flush::first_line ? std::min<std::size_t>(bytes, 1) : bytes, threads);
  }
}
bool __wrap__ZN10grainscope9can_flushEv() {
  return can;
}
}

namespace grainscope::harness {
namespace {

// What is said where a flush evicts, and where it does not: tests/golden/flush_proof.txt. The linker puts
// this file's flush between the families and the library's (--wrap in CMakeLists.txt).

class FlushProof : public testing::Test {
 protected:
  // What one case says of itself; numbers that differ from run to run are N.
  void measure(const std::string& title, const Family& family, const std::string& name) {
    const Scope scope = make_scope(Preset::smoke, {}, false, {machine_.topology.usable_nodes().front()});
    const Filter filter(name);
    for (const Benchmark& benchmark : list_all({family}, machine_, scope)) {
      if (filter.keeps(benchmark.id.name())) {
        lines_.push_back(title + ", " + family.name + ": " + said_by(benchmark));
        return;
      }
    }
    ADD_FAILURE() << name << " is no case";
  }

  std::string said_by(const Benchmark& benchmark) {
    if (!benchmark.skip.empty()) {
      return "skipped, " + benchmark.skip;
    }
    LinkPeaks peaks(machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(machine_, {.budget_s = 0, .warmups = 1}, peaks, nullptr, [] { return false; });
    try {
      const Measurement measurement = benchmark.run(session);
      const auto ratio = measurement.counters.find("load_time_ratio");
      const bool proved = ratio != measurement.counters.end() && ratio->second >= 5;
      return "ok, " + measurement.verification + (proved ? "; load_time_ratio is at least 5" : "");
    } catch (const FailedError& error) {
      return "failed, " + std::regex_replace(error.what(), std::regex(R"([0-9]+\.[0-9]+)"), "N");
    }
  }

  Machine machine_ = test::machine_without_gpu();
  std::vector<std::string> lines_;
};

TEST_F(FlushProof, says_what_it_said) {
  const bool here = cache_line_bytes() > 0 && flush_instruction() != "none";
  if (!here) {
    GTEST_SKIP() << "this architecture cannot flush from user space";
  }
  const std::string cached = "cached.*bytes:65536$";
  measure("a flush of the whole buffer", host_flush(), cached);
  flush = Flush::nothing;
  measure("a flush that does nothing", host_flush(), cached);
  flush = Flush::first_line;
  measure("a flush of the first line alone", host_flush(), cached);
  flush = Flush::real;
  measure("a flush of the whole buffer", host_memcpy(), "flush:on.*threads:1/bytes:65536$");
  can = false;
  measure("a processor without the instruction", host_flush(), cached);
  measure("a processor without the instruction, flushed", host_memcpy(), "flush:on.*threads:1/bytes:65536$");
  measure("a processor without the instruction, cached", host_memcpy(), "flush:off.*threads:1/bytes:65536$");
  can = true;
  try {
    flush_cache(lines_.data(), 64, 0);
  } catch (const UsageError& error) {
    lines_.push_back(std::string("a flush by no threads: ") + error.what());
  }
  test::expect_golden("flush_proof.txt", lines_);
}

}  // namespace
}  // namespace grainscope::harness

namespace grainscope {
namespace {

using test::MachineTree;

// What is said of CPU frequencies, on machines that are stored as files: tests/golden/governor_findings.txt.

std::string governor_of(int cpu) {
  return "sys/devices/system/cpu/cpufreq/policy" + std::to_string(cpu) + "/scaling_governor";
}

const std::vector<std::pair<std::string, std::function<void(MachineTree&)>>>& machines() {
  static const std::vector<std::pair<std::string, std::function<void(MachineTree&)>>> all{
      {"two sockets, performance", test::write_two_sockets},
      {"two sockets, powersave",
       [](MachineTree& tree) {
         test::write_two_sockets(tree);
         for (int cpu = 0; cpu < 8; ++cpu) {
           tree.file(governor_of(cpu), "powersave");
         }
       }},
      {"two sockets, one CPU of each with a governor of its own",
       [](MachineTree& tree) {
         test::write_two_sockets(tree);
         tree.file(governor_of(3), "schedutil").file(governor_of(4), "ondemand");
       }},
      {"two sockets, governors of two CPUs unreadable",
       [](MachineTree& tree) {
         test::write_two_sockets(tree);
         tree.remove(governor_of(1)).remove(governor_of(6));
       }},
      {"two sockets, one CPU held down, boost on",
       [](MachineTree& tree) {
         test::write_two_sockets(tree);
         tree.file("sys/devices/system/cpu/cpufreq/policy2/scaling_max_freq", "2000000");
         tree.file("sys/devices/system/cpu/cpufreq/boost", "1");
       }},
      {"two sockets, turbo of intel_pstate",
       [](MachineTree& tree) {
         test::write_two_sockets(tree);
         tree.remove("sys/devices/system/cpu/cpufreq/boost");
         tree.file("sys/devices/system/cpu/intel_pstate/no_turbo", "0");
       }},
      {"container that sees no frequencies", test::write_container},
  };
  return all;
}

TEST(GovernorFindings, of_stored_machines_are_as_they_were) {
  std::vector<std::string> lines;
  for (const auto& [name, write] : machines()) {
    MachineTree tree;
    write(tree);
    const Environment environment = read_environment(tree.roots(), Topology::read(tree.roots()), {}, {});
    lines.push_back("# " + name);
    for (const Warning& warning : find_cpu_warnings(environment)) {
      lines.push_back(std::string(severity_name(warning.severity)) + " " + warning.id + ": " +
                      warning.finding);
      lines.push_back("  effect: " + warning.effect);
      lines.push_back("  remedy: " + warning.remedy);
    }
  }
  test::expect_golden("governor_findings.txt", lines);
}

}  // namespace
namespace {

// What is said where huge pages cannot be had, on machines that are stored as files:
// tests/golden/huge_pages.txt.

class HugePages : public testing::Test {
 protected:
  HugePages() {
    test::write_two_sockets(tree_);
    tree_.file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152");
    pool("sys/kernel/mm/hugepages/", 0, 0);
  }
  void pool(const std::string& directory, int total, int free) {
    tree_.file(directory + "hugepages-2048kB/nr_hugepages", std::to_string(total));
    tree_.file(directory + "hugepages-2048kB/free_hugepages", std::to_string(free));
  }
  void ask(const std::string& title, PageKind kind, std::optional<int> node = {}) {
    std::string said = "granted";
    try {
      const std::size_t page = page_bytes(kind, tree_.roots());
      require_pages({.bytes = 3 * kMiB, .node = node, .pages = kind}, page, tree_.roots());
    } catch (const EnvironmentError& error) {
      said = error.what();
    }
    lines_.push_back(title + ": " + said);
  }

  MachineTree tree_;
  std::vector<std::string> lines_;
};

TEST_F(HugePages, that_cannot_be_had_are_refused_as_they_were) {
  ask("transparent, on request", PageKind::transparent_huge);
  tree_.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  ask("transparent, never", PageKind::transparent_huge);
  tree_.file("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always inherit [madvise] never");
  ask("transparent, never but for their size", PageKind::transparent_huge);
  tree_.remove("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  ask("transparent, a kernel without", PageKind::transparent_huge);
  ask("reserved, none", PageKind::hugetlb);
  pool("sys/kernel/mm/hugepages/", 16, 1);
  ask("reserved, one free of 16", PageKind::hugetlb);
  pool("sys/kernel/mm/hugepages/", 16, 2);
  ask("reserved, enough", PageKind::hugetlb);
  pool("sys/devices/system/node/node0/hugepages/", 16, 2);
  pool("sys/devices/system/node/node1/hugepages/", 0, 0);
  ask("reserved, enough on the node", PageKind::hugetlb, 0);
  ask("reserved, none on the node", PageKind::hugetlb, 1);
  test::expect_golden("huge_pages.txt", lines_);
}

}  // namespace
}  // namespace grainscope

namespace grainscope::cuda {
namespace {

// What the budget of managed memory refuses, on GPUs whose free memory the test names:
// tests/golden/managed_refusals.txt.

class ManagedRefusals : public testing::Test {
 protected:
  void title(const std::string& text) { lines_.push_back("# " + text); }
  void reserve(ManagedBudget& budget, int gpu, std::uint64_t bytes,
               ManagedUse use = ManagedUse::may_migrate) {
    const std::string what = "GPU " + std::to_string(gpu) + " with " + format_bytes(free_[gpu]) + " free, " +
                             format_bytes(bytes) + (use == ManagedUse::stays_on_host ? " to stay: " : ": ");
    try {
      budget.reserve(gpu, bytes, use);
      lines_.push_back(what + "granted, " + format_bytes(budget.available(gpu, use)) + " left");
    } catch (const SkipError& error) {
      lines_.push_back(what + error.what());
    }
  }

  std::map<int, std::uint64_t> free_{{0, 80 * kGiB}, {1, 24 * kGiB}};
  std::function<std::uint64_t(int)> free_bytes_ = [this](int gpu) { return free_.at(gpu); };
  std::vector<std::string> lines_;
};

TEST_F(ManagedRefusals, on_stand_in_gpus_are_as_they_were) {
  title("at the cap of a quarter, and a byte above");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 20 * kGiB + 1);
    reserve(budget, 0, 20 * kGiB);
    reserve(budget, 0, 1);
  }
  title("live allocations count together, each GPU's for itself");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 1, 6 * kGiB);
    reserve(budget, 1, kMiB);
    budget.release(0, 12 * kGiB);
    reserve(budget, 0, 12 * kGiB);
  }
  title("what stays on the host has three quarters, with what may migrate");
  {
    constexpr ManagedUse kStays = ManagedUse::stays_on_host;
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 60 * kGiB + 1, kStays);
    reserve(budget, 0, 50 * kGiB, kStays);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 0, 8 * kGiB);
    reserve(budget, 0, 4 * kGiB, kStays);
    budget.release(0, 50 * kGiB, kStays);
    reserve(budget, 0, 12 * kGiB);
    reserve(budget, 0, 42 * kGiB, kStays);
  }
  title("another process takes memory meanwhile");
  {
    ManagedBudget budget(false, free_bytes_);
    reserve(budget, 0, 8 * kGiB);
    free_[0] = 32 * kGiB;
    reserve(budget, 0, kKiB);
    free_[0] = 36 * kGiB;
    reserve(budget, 0, kGiB);
    free_[0] = 0;
    reserve(budget, 0, 4);
    free_[0] = 80 * kGiB;
  }
  title("--allow-managed-oversubscription lifts the cap");
  {
    ManagedBudget budget(true, free_bytes_);
    budget.reserve(0, 160 * kGiB);
    lines_.push_back("GPU 0 with 80 GiB free, 160 GiB: granted");
  }
  test::expect_golden("managed_refusals.txt", lines_);
}

}  // namespace
}  // namespace grainscope::cuda
