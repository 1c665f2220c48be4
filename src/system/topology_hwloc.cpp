// The topology as hwloc tells it: from an XML export, or what the kernel's files left open.

#include <hwloc.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>

#include "grainscope/core/error.hpp"
#include "topology_builder.hpp"

namespace grainscope {

namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, DestroyTopology>;

// nullptr: hwloc cannot load it.
Hwloc load(const std::string& xml) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return nullptr;
  }
  Hwloc topology(raw);
  if (!xml.empty() && hwloc_topology_set_xml(raw, xml.c_str()) != 0) {
    return nullptr;
  }
  // Plug-ins that would start a GPU run-time have no place in a probe.
  for (const char* plugin : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

std::vector<int> bits(hwloc_const_bitmap_t set) {
  std::vector<int> numbers;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) {
    return numbers;  // absent or infinite
  }
  for (int bit = hwloc_bitmap_first(set); bit != -1; bit = hwloc_bitmap_next(set, bit)) {
    numbers.push_back(bit);
  }
  return numbers;
}

std::optional<int> count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int number = hwloc_get_nbobjs_by_type(topology, type);
  return number > 0 ? std::optional<int>(number) : std::nullopt;
}

std::vector<CacheInstance> caches_of(hwloc_topology_t topology) {
  std::vector<CacheInstance> caches;
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; ++type) {
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, static_cast<hwloc_obj_type_t>(type), object)) !=
           nullptr) {
      const auto& cache = object->attr->cache;
      const char* kind = cache.type == HWLOC_OBJ_CACHE_UNIFIED ? "unified"
                         : cache.type == HWLOC_OBJ_CACHE_DATA  ? "data"
                                                               : "instruction";
      if (cache.size > 0) {
        caches.push_back(
            {static_cast<int>(cache.depth), kind, cache.size, hwloc_bitmap_weight(object->cpuset)});
      }
    }
  }
  return caches;
}

std::string bus_id_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& device) {
  char text[64];
  snprintf(text, sizeof text, "%04x:%02x:%02x.%01x", static_cast<unsigned>(device.domain), device.bus,
           device.dev, device.func);
  return text;
}

// Where each PCI device hangs. A device below the whole of a machine with several nodes is left out: hwloc
// says that of every device about which it knows nothing.
std::map<std::string, PciLocality> pci_of(hwloc_topology_t topology, const std::vector<Node>& nodes) {
  std::map<std::string, PciLocality> found;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
    hwloc_obj_t ancestor = hwloc_get_non_io_ancestor_obj(topology, device);
    if (ancestor == nullptr || ancestor->parent == nullptr) {
      continue;
    }
    PciLocality near{std::nullopt, bits(ancestor->cpuset), "hwloc"};
    std::set<int> ids;
    for (const Node& node : nodes) {
      const bool holds = std::any_of(near.cpus.begin(), near.cpus.end(), [&](int cpu) {
        return std::binary_search(node.cpus.begin(), node.cpus.end(), cpu);
      });
      if (holds) {
        ids.insert(node.id);
      }
    }
    if (ids.size() == 1) {
      near.node = *ids.begin();
    }
    found[bus_id_of(device->attr->pcidev)] = near;
  }
  return found;
}

std::vector<Node> nodes_of(hwloc_topology_t topology) {
  std::vector<Node> nodes;
  hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(topology);
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr) {
    Node node;
    node.id = static_cast<int>(object->os_index);
    node.cpus = bits(object->cpuset);
    node.memory_bytes = object->attr->numanode.local_memory;
    node.memory_allowed = hwloc_bitmap_isset(allowed, object->os_index) != 0;
    nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& left, const Node& right) { return left.id < right.id; });
  // hwloc gives a memory-only node the CPUs it hangs at; to the kernel it has none, and so it has here.
  std::set<int> taken;
  for (Node& node : nodes) {
    std::erase_if(node.cpus, [&](int cpu) { return !taken.insert(cpu).second; });
  }
  return nodes;
}

std::map<std::pair<int, int>, int> distances_of(hwloc_topology_t topology) {
  std::map<std::pair<int, int>, int> distances;
  unsigned number = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_name(topology, "NUMALatency", &number, &matrix, 0) != 0 || number == 0) {
    return distances;
  }
  for (unsigned row = 0; row < matrix->nbobjs; ++row) {
    for (unsigned column = 0; column < matrix->nbobjs; ++column) {
      distances[{static_cast<int>(matrix->objs[row]->os_index),
                 static_cast<int>(matrix->objs[column]->os_index)}] =
          static_cast<int>(matrix->values[row * matrix->nbobjs + column]);
    }
  }
  hwloc_distances_release(topology, matrix);
  return distances;
}

int widest_core(hwloc_topology_t topology) {
  int widest = 0;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    widest = std::max(widest, hwloc_bitmap_weight(core->cpuset));
  }
  return widest;
}

}  // namespace

void TopologyBuilder::read_xml() {
  const std::string& path = topology.roots_.hwloc_xml;
  const Hwloc hwloc = load(path);
  if (hwloc == nullptr) {
    throw EnvironmentError(
        "reading the topology from " + path +
        ": not an hwloc XML file that hwloc can load; make one with `lstopo --of xml FILE`");
  }
  hwloc_topology_t raw = hwloc.get();
  topology.online_cpus_ = bits(hwloc_topology_get_topology_cpuset(raw));
  const std::vector<int> allowed = bits(hwloc_topology_get_allowed_cpuset(raw));
  std::set_intersection(topology.online_cpus_.begin(), topology.online_cpus_.end(), allowed.begin(),
                        allowed.end(), std::back_inserter(topology.allowed_cpus_));
  topology.nodes_ = nodes_of(raw);
  topology.numa_known_ = !topology.nodes_.empty();
  if (!topology.numa_known_) {
    topology.why_numa_unknown_ = path + " names no nodes";
  }
  topology.distances_ = distances_of(raw);
  topology.packages_ = count(raw, HWLOC_OBJ_PACKAGE);
  topology.cores_ = count(raw, HWLOC_OBJ_CORE);
  if (topology.cores_) {
    topology.threads_per_core_ = widest_core(raw);
  }
  for (const CacheInstance& cache : caches_of(raw)) {
    add_cache(cache);
  }
  topology.hwloc_pci_ = pci_of(raw, topology.nodes_);
}

void TopologyBuilder::complete_with_hwloc() {
  const bool wants_caches = topology.caches_.empty();
  const bool wants_cores = !topology.cores_ || !topology.packages_;
  const bool wants_pci = topology.nodes_.size() > 1;
  if (!wants_caches && !wants_cores && !wants_pci) {
    return;
  }
  const Hwloc hwloc = load("");
  if (hwloc == nullptr) {
    return;
  }
  if (wants_caches) {
    for (const CacheInstance& cache : caches_of(hwloc.get())) {
      add_cache(cache);
    }
  }
  if (!topology.packages_) {
    topology.packages_ = count(hwloc.get(), HWLOC_OBJ_PACKAGE);
  }
  if (!topology.cores_) {
    topology.cores_ = count(hwloc.get(), HWLOC_OBJ_CORE);
    if (topology.cores_) {
      topology.threads_per_core_ = widest_core(hwloc.get());
    }
  }
  if (wants_pci) {
    topology.hwloc_pci_ = pci_of(hwloc.get(), topology.nodes_);
  }
}

}  // namespace grainscope
