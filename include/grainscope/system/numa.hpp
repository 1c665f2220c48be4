#ifndef GRAINSCOPE_SYSTEM_NUMA_HPP
#define GRAINSCOPE_SYSTEM_NUMA_HPP

// Keeping a thread and the memory it takes on one NUMA node.

#include <sched.h>

#include <string>
#include <vector>

#include "grainscope/system/topology.hpp"

namespace grainscope {

// Whether the kernel lets this process set and read memory policies. Container run-times often refuse it
// (seccomp); then CPUs can still be bound, and memory follows by first touch. `why_not` gets one sentence.
[[nodiscard]] bool memory_policy_available(std::string* why_not = nullptr);

// While it lives, the calling thread runs on the allowed CPUs of a node, and what the thread touches first
// comes from that node's memory. Destroyed on the same thread, it restores what was before. Threads started
// meanwhile inherit both and keep them.
class [[nodiscard]] NodeBinding {
 public:
  // With `parts` only the CPUs of that part of as many, where there are as many CPUs. EnvironmentError: no
  // such node, no allowed CPU on it, memory of it forbidden, or the kernel refused.
  NodeBinding(const Topology& topology, int node, int part = 0, int parts = 1);
  ~NodeBinding();
  NodeBinding(const NodeBinding&) = delete;
  NodeBinding& operator=(const NodeBinding&) = delete;

  [[nodiscard]] int node() const noexcept { return node_; }
  // False where the kernel refuses memory policies, or with one node only: memory follows by first touch.
  [[nodiscard]] bool binds_memory() const noexcept { return binds_memory_; }

 private:
  int node_;
  bool binds_memory_ = false;
  int previous_mode_ = 0;
  std::vector<unsigned long> previous_nodes_;
  std::vector<unsigned long> previous_cpus_;
};

// The CPUs that the calling thread may run on now, sorted.
[[nodiscard]] std::vector<int> current_affinity();

}  // namespace grainscope

#endif
