// What every preset lists on machines that are not here, with its reasons for skipping and the memory it
// needs: held to tests/golden/listings.txt, a line for each machine and what was asked for.
//
// To look at a difference: GRAINSCOPE_LISTINGS=FOLDER writes the whole lists there, for `diff -r` with those
// of another commit. GRAINSCOPE_NEW_LISTINGS=1 writes the golden file anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "../system/machine_tree.hpp"
#include "child.hpp"
#include "fakes.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

using test::MachineTree;

// FNV-1a: short, and the same everywhere.
std::uint64_t digest_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return hash;
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

std::string line_of(const Benchmark& benchmark) {
  const Needs& needs = benchmark.needs;
  const Explanation& said = benchmark.explanation;
  std::ostringstream line;
  line << benchmark.id.name();
  for (const Axis& axis : benchmark.id.axes) {
    line << (axis.style == AxisStyle::hidden ? " " + axis.key + "=" + to_string(axis.value) : "");
  }
  line << "\t" << benchmark.skip << "\t" << needs.host_bytes << " " << needs.device_bytes << " "
       << needs.managed_bytes << " " << needs.shared_host_bytes << "\t"
       << hexadecimal(digest_of(said.measures + said.timed + said.formula + said.source + said.limits));
  return line.str();
}

// A machine of `sockets` nodes of four CPUs with `gpus` GPUs, divided among the nodes; all that families look
// at is set, so that it does not matter where this runs.
struct Described {
  int sockets = 1;
  int gpus = 0;
  bool peers = true;
  bool maps = true;
  bool mps = true;
};

Machine machine_of(const Described& described, const MachineTree& tree) {
  Machine machine = test::machine_with_gpus(described.gpus);
  machine.topology = Topology::read(tree.roots());
  machine.nvml.reset();
  machine.warnings.clear();
  machine.environment.memory.available = {};
  machine.environment.memory.available.meminfo_bytes = 120 * kGiB;
  machine.environment.driver = {};
  if (described.gpus == 0) {
    machine.runtime.why_none = "there is no driver";
  }
  for (GpuReport& gpu : machine.environment.gpus) {
    gpu.cuda->sm_count = 132;
    gpu.cuda->can_map_host_memory = described.maps;
    gpu.cuda->concurrent_managed_access = described.maps;
    if (described.sockets > 1) {
      gpu.near.node = gpu.cuda->ordinal * described.sockets / described.gpus;
    }
  }
  for (cuda::PeerLink& link : machine.runtime.peers) {
    link.access = described.peers;
  }
  return machine;
}

void write_sockets(MachineTree& tree, int sockets) {
  const int cpus = 4 * sockets;
  const std::string all = "0-" + std::to_string(cpus - 1);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    const int first = cpu / 4 * 4;
    tree.cpu(cpu, std::to_string(cpu), cpu / 4, std::to_string(first) + "-" + std::to_string(first + 3));
  }
  std::string nodes = "0";
  for (int node = 0; node < sockets; ++node) {
    std::string distances;
    for (int other = 0; other < sockets; ++other) {
      distances += (other == 0 ? "" : " ") + std::string(other == node ? "10" : "21");
    }
    tree.node(node, std::to_string(4 * node) + "-" + std::to_string(4 * node + 3), distances, 67108864);
    nodes += node > 0 ? "," + std::to_string(node) : "";
  }
  tree.file("sys/devices/system/cpu/online", all).file("sys/devices/system/node/online", nodes);
  tree.file("proc/self/status", "Cpus_allowed_list:\t" + all + "\nMems_allowed_list:\t" + nodes);
}

const std::map<std::string, Described>& machines() {
  static const std::map<std::string, Described> all{
      {"no_gpu", {.sockets = 2}},
      {"one_gpu", {.gpus = 1}},
      {"two_gpus_no_peer_access", {.gpus = 2, .peers = false}},
      {"two_sockets_four_gpus", {.sockets = 2, .gpus = 4}},
      {"four_sockets_eight_gpus", {.sockets = 4, .gpus = 8}},
      {"one_gpu_without_mapping_or_mps", {.gpus = 1, .maps = false, .mps = false}},
  };
  return all;
}

// What a user may ask for beside a preset.
using Asked = std::function<void(Scope&)>;
const std::map<std::string, Asked>& questions() {
  static const std::map<std::string, Asked> all{
      {"", [](Scope&) {}},
      {"--max-bytes=8MiB", [](Scope& scope) { scope.max_bytes = 8 * kMiB; }},
      {"--min-bytes=1MiB --max-bytes=64GiB",
       [](Scope& scope) {
         scope.min_bytes = kMiB;
         scope.max_bytes = 64 * kGiB;
       }},
      {"--graph=urand:16,kron:24 --hot-budget=64MiB",
       [](Scope& scope) {
         scope.graphs = {graph::parse_graph_spec("urand:16"), graph::parse_graph_spec("kron:24")};
         scope.hot_budgets = {64 * kMiB};
       }},
  };
  return all;
}

class Listings : public testing::Test {
 protected:
  Listings() {
    test::write_text(programs_ / "nvidia-cuda-mps-control", "#!/bin/sh\n");
    std::filesystem::permissions(programs_ / "nvidia-cuda-mps-control", std::filesystem::perms::owner_all);
    before_ = std::getenv("PATH");
  }
  ~Listings() override { setenv("PATH", before_.c_str(), 1); }

  // By family, sorted: in which order they run is nobody's promise.
  std::map<std::string, std::vector<std::string>> list(const Machine& machine, Preset preset,
                                                       bool gpus_asked_for, const Asked& asked) const {
    Scope scope = make_scope(preset, gpu_targets(machine, {}), gpus_asked_for, node_targets(machine, {}));
    asked(scope);
    std::map<std::string, std::vector<std::string>> lines;
    std::ofstream whole;
    for (const Benchmark& benchmark : list_all(all_families(), machine, scope)) {
      lines[benchmark.id.family].push_back(line_of(benchmark));
    }
    return lines;
  }

  void use_mps(bool there) const { setenv("PATH", there ? programs_.path().c_str() : "/nowhere", 1); }

  static void keep(const std::string& title, const std::map<std::string, std::vector<std::string>>& lists) {
    const char* folder = std::getenv("GRAINSCOPE_LISTINGS");
    if (folder == nullptr) {
      return;
    }
    std::filesystem::create_directories(folder);
    std::ofstream file(std::filesystem::path(folder) / title);
    for (const auto& [family, lines] : lists) {
      for (const std::string& line : lines) {
        file << line << '\n';
      }
    }
  }

  const test::TemporaryDirectory programs_;
  std::string before_;
};

TEST_F(Listings, of_every_preset_on_every_machine_are_as_they_were) {
  std::vector<std::string> found;
  for (const auto& [machine_name, described] : machines()) {
    MachineTree tree;
    write_sockets(tree, described.sockets);
    const Machine machine = machine_of(described, tree);
    use_mps(described.mps);
    for (const Preset preset :
         {Preset::smoke, Preset::quick, Preset::full, Preset::paper, Preset::acceptance}) {
      for (const bool asked_for : {false, true}) {
        for (const auto& [question, asked] : questions()) {
          // What matters of each; all of it would take minutes.
          const bool many = described.gpus > 4;
          const bool plain = question.empty();
          if ((asked_for && (described.gpus < 2 || !plain)) ||
              (many && (!plain || preset == Preset::paper)) ||
              (!plain && described.gpus != 1 && preset == Preset::paper)) {
            continue;
          }
          const std::string title = machine_name + " " + name(preset) + (asked_for ? " --gpu=all" : "") +
                                    (question.empty() ? "" : " ") + question;
          auto lists = list(machine, preset, asked_for, asked);
          keep(title, lists);
          std::size_t cases = 0;
          std::string all;
          for (auto& [family, lines] : lists) {
            std::sort(lines.begin(), lines.end());
            cases += lines.size();
            for (const std::string& line : lines) {
              all += line + "\n";
            }
          }
          found.push_back(title + ": " + std::to_string(cases) + " " + hexadecimal(digest_of(all)));
        }
      }
    }
  }
  if (std::getenv("GRAINSCOPE_NEW_LISTINGS") != nullptr) {
    std::ofstream file(GRAINSCOPE_GOLDEN_LISTINGS);
    for (const std::string& line : found) {
      file << line << '\n';
    }
  }
  std::ifstream file(GRAINSCOPE_GOLDEN_LISTINGS);
  std::vector<std::string> golden;
  for (std::string line; std::getline(file, line);) {
    golden.push_back(line);
  }
  const std::set<std::string> was(golden.begin(), golden.end());
  const std::set<std::string> is(found.begin(), found.end());
  for (const std::string& line : is) {
    EXPECT_TRUE(was.contains(line)) << "now:    " << line;
  }
  for (const std::string& line : was) {
    EXPECT_TRUE(is.contains(line)) << "before: " << line;
  }
  EXPECT_GT(found.size(), 100U);
}

}  // namespace
}  // namespace grainscope::harness
