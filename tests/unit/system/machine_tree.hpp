#ifndef GRAINSCOPE_TESTS_MACHINE_TREE_HPP
#define GRAINSCOPE_TESTS_MACHINE_TREE_HPP

// Other machines for the probes: a directory that stands for `/`, written file by file.

#include <filesystem>
#include <string>

#include "grainscope/system/sysfs.hpp"

namespace grainscope::test {

class MachineTree {
 public:
  MachineTree();
  ~MachineTree();
  MachineTree(const MachineTree&) = delete;
  MachineTree& operator=(const MachineTree&) = delete;

  // Writes one file below the root, with a newline at its end as the kernel does.
  MachineTree& file(const std::string& path, const std::string& text);
  MachineTree& directory(const std::string& path);
  MachineTree& remove(const std::string& path);
  [[nodiscard]] Roots roots() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // One CPU: its core's CPUs, its socket, and the usual caches with the CPUs that share the last one.
  MachineTree& cpu(int number, const std::string& core_cpus, int socket, const std::string& socket_cpus);
  MachineTree& node(int number, const std::string& cpus, const std::string& distances,
                    unsigned long memory_kb);
  MachineTree& frequency_policy(int cpu, const std::string& driver, const std::string& governor);
  MachineTree& gpu(const std::string& bus_id, int node, const std::string& cpus);

 private:
  std::filesystem::path path_;
};

// Two sockets of two cores of two threads, a node each, bare metal, governor performance, with a GPU at
// 0000:81:00.0 on node 1. Node 0 has CPUs 0-3, node 1 has 4-7.
void write_two_sockets(MachineTree& tree);

// A container on a virtual machine: CPUs 2 and 3 of eight allowed, one node, no cpufreq, control groups of
// version 2 with a quota of 1.5 CPUs and 4 GiB.
void write_container(MachineTree& tree);

}  // namespace grainscope::test

#endif
