// What is said of CPU frequencies, on machines that are stored as files: tests/golden/governor_findings.txt.

#include <functional>
#include <utility>

#include "../system/machine_tree.hpp"
#include "golden_text.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope {
namespace {

using test::MachineTree;

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
}  // namespace grainscope
