// Binding a thread to a node, and undoing it.

#include "grainscope/system/numa.hpp"

#include <numa.h>
#include <numaif.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/sysfs.hpp"
#include "memory_policy.hpp"

namespace grainscope {

BitWords node_bits(int node) {
  BitWords words(kNodeBits / kWordBits);
  words.at(static_cast<std::size_t>(node) / kWordBits) = 1UL << (static_cast<std::size_t>(node) % kWordBits);
  return words;
}

std::string errno_text(int error) {
  const char* name = strerrorname_np(error);
  const char* text = strerrordesc_np(error);
  return std::string(name != nullptr ? name : "errno " + std::to_string(error)) + " (" +
         (text != nullptr ? text : "unknown error") + ")";
}

namespace {

// sched_getaffinity refuses a set smaller than the kernel's, so it is grown until it fits.
BitWords affinity_words() {
  for (std::size_t bits = 1024; bits <= kLargestCpuBits; bits *= 2) {
    BitWords words(bits / kWordBits);
    if (sched_getaffinity(0, words.size() * sizeof(unsigned long),
                          reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
      return words;
    }
    if (errno != EINVAL) {
      break;
    }
  }
  throw EnvironmentError("reading this thread's CPUs (sched_getaffinity): " + errno_text(errno));
}

int set_affinity_words(const BitWords& words) noexcept {
  const auto* set = reinterpret_cast<const cpu_set_t*>(words.data());
  return sched_setaffinity(0, words.size() * sizeof(unsigned long), set) == 0 ? 0 : errno;
}

const Node& bindable(const Topology& topology, int id) {
  const std::string tried = "binding a thread to NUMA node " + std::to_string(id) + ": ";
  const Node* node = topology.find_node(id);
  const auto usable = topology.usable_nodes();
  const std::string remedy = "; nodes that can be bound to here: " + sysfs::format_list(usable);
  if (node == nullptr) {
    throw EnvironmentError(tried + "there is no such node" + remedy);
  }
  if (node->cpus.empty()) {
    throw EnvironmentError(tried + "it has memory but no CPUs" + remedy);
  }
  if (node->allowed_cpus.empty()) {
    throw EnvironmentError(tried + "none of its CPUs (" + sysfs::format_list(node->cpus) +
                           ") is allowed to this process" + remedy +
                           ", or start it with other CPUs (taskset, cpuset)");
  }
  if (!node->memory_allowed) {
    throw EnvironmentError(tried + "its memory is not allowed to this process" + remedy +
                           ", or start it with other nodes (cpuset.mems)");
  }
  return *node;
}

}  // namespace

int set_affinity(const std::vector<int>& cpus) noexcept {
  if (cpus.empty() || cpus.back() < 0 || static_cast<std::size_t>(cpus.back()) >= kLargestCpuBits) {
    return EINVAL;
  }
  BitWords words(static_cast<std::size_t>(cpus.back()) / kWordBits + 1);
  for (const int cpu : cpus) {
    words[static_cast<std::size_t>(cpu) / kWordBits] |= 1UL << (static_cast<std::size_t>(cpu) % kWordBits);
  }
  return set_affinity_words(words);
}

std::vector<int> current_affinity() {
  const BitWords words = affinity_words();
  std::vector<int> cpus;
  for (std::size_t bit = 0; bit < words.size() * kWordBits; ++bit) {
    if ((words[bit / kWordBits] >> (bit % kWordBits) & 1) != 0) {
      cpus.push_back(static_cast<int>(bit));
    }
  }
  return cpus;
}

bool memory_policy_available(std::string* why_not) {
  // numa_available() takes ENOSYS for "no", but not the EPERM of a container's filter.
  int mode = 0;
  if (numa_available() >= 0 && get_mempolicy(&mode, nullptr, 0, nullptr, 0) == 0) {
    return true;
  }
  if (why_not != nullptr) {
    *why_not = "the kernel refuses memory policies here (get_mempolicy: " + errno_text(errno) +
               "); in a container, allow them with --cap-add SYS_NICE";
  }
  return false;
}

NodeBinding::NodeBinding(const Topology& topology, int node, int part, int parts) : node_(node) {
  std::vector<int> cpus = bindable(topology, node).allowed_cpus;
  if (cpus.size() >= static_cast<std::size_t>(parts)) {
    const Share share = share_of(cpus.size(), part, parts);
    cpus = {cpus.begin() + static_cast<std::ptrdiff_t>(share.first),
            cpus.begin() + static_cast<std::ptrdiff_t>(share.last)};
  }
  previous_cpus_ = affinity_words();
  if (const int error = set_affinity(cpus); error != 0) {
    throw EnvironmentError("binding a thread to the CPUs " + sysfs::format_list(cpus) + " of NUMA node " +
                           std::to_string(node) + " (sched_setaffinity): " + errno_text(error));
  }
  if (!topology.numa_known() || !memory_policy_available()) {
    return;  // memory follows by first touch
  }
  previous_nodes_.assign(kNodeBits / kWordBits, 0);
  const BitWords nodes = node_bits(node);
  if (get_mempolicy(&previous_mode_, previous_nodes_.data(), kNodeBits, nullptr, 0) != 0 ||
      set_mempolicy(MPOL_BIND, nodes.data(), kNodeBits) != 0) {
    const int error = errno;
    set_affinity_words(previous_cpus_);
    throw EnvironmentError("binding a thread's memory to NUMA node " + std::to_string(node) +
                           " (set_mempolicy): " + errno_text(error));
  }
  binds_memory_ = true;
}

NodeBinding::~NodeBinding() {
  if (binds_memory_) {
    const bool no_nodes =
        std::all_of(previous_nodes_.begin(), previous_nodes_.end(), [](auto word) { return word == 0; });
    set_mempolicy(previous_mode_, no_nodes ? nullptr : previous_nodes_.data(), no_nodes ? 0 : kNodeBits);
  }
  set_affinity_words(previous_cpus_);
}

}  // namespace grainscope
