// Topology's questions, and the order in which its readers are asked.

#include "grainscope/system/topology.hpp"

#include <algorithm>
#include <cctype>
#include <climits>
#include <iterator>
#include <tuple>
#include <utility>

#include "grainscope/system/sysfs.hpp"
#include "platform.hpp"
#include "topology_builder.hpp"

namespace grainscope {

Topology Topology::read(const Roots& roots) {
  TopologyBuilder builder;
  builder.topology.roots_ = roots;
  if (!roots.hwloc_xml.empty()) {
    builder.read_xml();
  } else {
    builder.read_kernel();
    if (roots.is_this_machine()) {
      builder.complete_with_hwloc();
    }
  }
  builder.finish();
  return std::move(builder.topology);
}

const Node* Topology::find_node(int id) const noexcept {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [id](const Node& node) { return node.id == id; });
  return found == nodes_.end() ? nullptr : &*found;
}

std::vector<int> Topology::usable_nodes() const {
  std::vector<int> ids;
  for (const Node& node : nodes_) {
    const bool has_memory = node.memory_bytes.value_or(1) > 0;
    if (!node.allowed_cpus.empty() && node.memory_allowed && has_memory) {
      ids.push_back(node.id);
    }
  }
  return ids;
}

std::optional<int> Topology::node_of_cpu(int cpu) const noexcept {
  for (const Node& node : nodes_) {
    if (std::binary_search(node.cpus.begin(), node.cpus.end(), cpu)) {
      return node.id;
    }
  }
  return std::nullopt;
}

std::optional<int> Topology::distance(int from, int to) const {
  const auto found = distances_.find({from, to});
  return found == distances_.end() ? std::nullopt : std::optional<int>(found->second);
}

std::optional<std::uint64_t> Topology::cache_bytes(int level) const noexcept {
  std::optional<std::uint64_t> bytes;
  for (const Cache& cache : caches_) {
    if (cache.level == level && cache.type != "instruction") {
      bytes = std::max(bytes.value_or(0), cache.bytes);
    }
  }
  return bytes;
}

std::optional<std::uint64_t> Topology::last_level_cache_bytes() const noexcept {
  int level = 0;
  for (const Cache& cache : caches_) {
    level = std::max(level, cache.level);
  }
  return cache_bytes(level);
}

PciLocality Topology::pci_locality(const std::string& bus_id) const {
  const std::string id = normal_pci_bus_id(bus_id);
  // With an XML export alone, `/` is another machine than the one it describes.
  const bool files_are_of_it = roots_.hwloc_xml.empty() || roots_.filesystem != "/";
  if (files_are_of_it) {
    const auto device = roots_.filesystem / "sys/bus/pci/devices" / id;
    const auto node = sysfs::read_integer(device / "numa_node");
    // The kernel's -1 is "not told", and firmware has been seen to name nodes that do not exist.
    const Node* found = node && *node >= 0 && *node <= INT_MAX ? find_node(static_cast<int>(*node)) : nullptr;
    if (found != nullptr) {
      const auto listed = sysfs::read_list(device / "local_cpulist");
      return {found->id, listed && !listed->empty() ? *listed : found->cpus, "sysfs"};
    }
  }
  if (const auto found = hwloc_pci_.find(id); found != hwloc_pci_.end()) {
    return found->second;
  }
  // A virtual machine with one node hides the nodes of its host; a real one with one node has one.
  if (files_are_of_it && numa_known_ && nodes_.size() == 1 && is_virtual_machine(roots_) == false) {
    return {nodes_.front().id, nodes_.front().cpus, "only node"};
  }
  return {};
}

std::string normal_pci_bus_id(const std::string& bus_id) {
  std::string id;
  for (const char letter : sysfs::trim(bus_id)) {
    id += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) {
    return id;
  }
  if (id.find(':', colon + 1) == std::string::npos) {
    return "0000:" + id;  // `3b:00.0`
  }
  // NVML writes eight digits of domain where sysfs writes four.
  std::size_t zeros = 0;
  while (colon - zeros > 4 && id[zeros] == '0') {
    ++zeros;
  }
  return id.substr(zeros);
}

void TopologyBuilder::add_cache(const CacheInstance& instance) {
  for (Cache& cache : topology.caches_) {
    if (cache.level == instance.level && cache.type == instance.type && cache.bytes == instance.bytes) {
      ++cache.count;
      cache.shared_by = std::max(cache.shared_by, instance.shared_by);
      return;
    }
  }
  topology.caches_.push_back({instance.level, instance.type, instance.bytes, 1, instance.shared_by});
}

void TopologyBuilder::finish() {
  std::sort(topology.caches_.begin(), topology.caches_.end(), [](const Cache& left, const Cache& right) {
    return std::tie(left.level, left.type, left.bytes) < std::tie(right.level, right.type, right.bytes);
  });
  if (topology.nodes_.empty()) {
    Node whole;
    whole.cpus = topology.online_cpus_;
    whole.memory_bytes = total_memory_bytes(topology.roots_);
    topology.nodes_.push_back(whole);
    topology.numa_known_ = false;
  }
  for (Node& node : topology.nodes_) {
    node.allowed_cpus.clear();
    std::set_intersection(node.cpus.begin(), node.cpus.end(), topology.allowed_cpus_.begin(),
                          topology.allowed_cpus_.end(), std::back_inserter(node.allowed_cpus));
  }
}

}  // namespace grainscope
