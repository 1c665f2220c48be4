#ifndef GRAINSCOPE_SYSTEM_TOPOLOGY_HPP
#define GRAINSCOPE_SYSTEM_TOPOLOGY_HPP

// What the machine is made of: nodes, CPUs, caches, and which of them this process may use and which are
// near a PCI device.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

// One NUMA node. A node may have no CPUs (CXL or HBM memory) or no memory.
struct Node {
  int id = 0;
  std::vector<int> cpus;                      // online, sorted, whether allowed or not
  std::vector<int> allowed_cpus;              // those of `cpus` that this process may run on
  std::optional<std::uint64_t> memory_bytes;  // as the kernel tells it now; absent when it does not
  bool memory_allowed = true;                 // this process may take memory here
};

// All caches of one level and type. `type` is `data`, `instruction` or `unified`. Where instances differ
// (big and little cores), there is one entry for each size.
struct Cache {
  int level = 0;
  std::string type;
  std::uint64_t bytes = 0;  // of one instance
  int count = 0;            // instances
  int shared_by = 0;        // CPUs that share one instance, at most
};

// CPUs and node near a PCI device, and who said so: `sysfs` or `hwloc`. Both may be unknown.
struct PciLocality {
  std::optional<int> node;
  std::vector<int> cpus;  // empty: unknown
  std::string source;     // empty when both are unknown
};

class Topology {
 public:
  // Reads the machine at `roots`. Never throws for what a machine does not tell: with no NUMA information
  // there is one node, id 0, holding every CPU, and `numa_known()` is false.
  // EnvironmentError: `roots.hwloc_xml` names a file that cannot be read as an hwloc topology.
  [[nodiscard]] static Topology read(const Roots& roots = {});

  [[nodiscard]] const std::vector<Node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::vector<Cache>& caches() const noexcept { return caches_; }
  [[nodiscard]] const std::vector<int>& online_cpus() const noexcept { return online_cpus_; }
  [[nodiscard]] const std::vector<int>& allowed_cpus() const noexcept { return allowed_cpus_; }
  // Sockets, physical cores and the most CPUs on one core; absent when not exposed.
  [[nodiscard]] std::optional<int> packages() const noexcept { return packages_; }
  [[nodiscard]] std::optional<int> cores() const noexcept { return cores_; }
  [[nodiscard]] std::optional<int> threads_per_core() const noexcept { return threads_per_core_; }
  // False: the one node listed stands for a machine that does not tell its nodes.
  [[nodiscard]] bool numa_known() const noexcept { return numa_known_; }
  // One sentence: why nodes are unknown. Empty when they are known.
  [[nodiscard]] const std::string& why_numa_unknown() const noexcept { return why_numa_unknown_; }

  // The node, or nullptr when there is none with that id.
  [[nodiscard]] const Node* find_node(int id) const noexcept;
  // Nodes on which this process has both a CPU and memory, by id: those that a benchmark can be bound to.
  [[nodiscard]] std::vector<int> usable_nodes() const;
  // The node that holds `cpu`; absent when there is no such CPU.
  [[nodiscard]] std::optional<int> node_of_cpu(int cpu) const noexcept;
  // The firmware's relative distance (10 is local); absent when not told.
  [[nodiscard]] std::optional<int> distance(int from, int to) const;
  // The largest unified or data cache of a level, e.g. 2 for L2, in bytes of one instance.
  [[nodiscard]] std::optional<std::uint64_t> cache_bytes(int level) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> last_level_cache_bytes() const noexcept;

  // Where a PCI device (`0000:3b:00.0`, any case, 4 or 8 digits of domain) hangs: sysfs first, and hwloc
  // where that says -1. On a machine with one node it is that node, also where neither says anything.
  [[nodiscard]] PciLocality pci_locality(const std::string& bus_id) const;
  [[nodiscard]] std::optional<int> node_of_pci(const std::string& bus_id) const {
    return pci_locality(bus_id).node;
  }
  [[nodiscard]] std::vector<int> cpus_near_pci(const std::string& bus_id) const {
    return pci_locality(bus_id).cpus;
  }

 private:
  friend struct TopologyBuilder;
  Topology() = default;

  std::vector<Node> nodes_;
  std::vector<Cache> caches_;
  std::vector<int> online_cpus_;
  std::vector<int> allowed_cpus_;
  std::optional<int> packages_;
  std::optional<int> cores_;
  std::optional<int> threads_per_core_;
  bool numa_known_ = false;
  std::string why_numa_unknown_;
  std::map<std::pair<int, int>, int> distances_;
  std::map<std::string, PciLocality> hwloc_pci_;
  Roots roots_;
};

// `0000:3b:00.0`: lower case, four digits of domain (more only where it needs them). What is not a PCI
// address comes back in lower case.
[[nodiscard]] std::string normal_pci_bus_id(const std::string& bus_id);

}  // namespace grainscope

#endif
