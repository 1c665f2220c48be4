#ifndef GRAINSCOPE_SRC_SYSTEM_TOPOLOGY_BUILDER_HPP
#define GRAINSCOPE_SRC_SYSTEM_TOPOLOGY_BUILDER_HPP

// The two readers that fill a Topology: the kernel's files, and hwloc.

#include <optional>
#include <string>
#include <tuple>

#include "grainscope/system/topology.hpp"

namespace grainscope {

// One cache of the machine: those of equal level, type and size are counted together.
struct CacheInstance {
  int level = 0;
  std::string type;
  std::uint64_t bytes = 0;
  int shared_by = 0;
};

struct TopologyBuilder {
  Topology topology = Topology();

  // Nodes, CPUs, distances, cores and caches from /proc and /sys below the root.
  void read_kernel();
  // The whole machine from an hwloc XML export.
  void read_xml();
  // What the kernel left open on this machine: caches, sockets and cores, and where PCI devices hang.
  void complete_with_hwloc();

  void add_cache(const CacheInstance& instance);
  // Fills in allowed CPUs of nodes, and the one node of a machine that tells none.
  void finish();

 private:
  void read_kernel_cpus();
  void read_kernel_nodes();
  void read_kernel_distances();
  void read_kernel_cores();
  void read_kernel_caches();
};

}  // namespace grainscope

#endif
