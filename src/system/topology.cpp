// The machine as nodes, CPUs, caches and PCI devices, from the files of the kernel and from hwloc.

#include "grainscope/system/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/system/sysfs.hpp"

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

// Topology's questions, and the order in which its readers are asked.

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
  const bool one_node = files_are_of_it && numa_known_ && nodes_.size() == 1;
  const std::optional<bool> is_virtual = one_node ? is_virtual_machine(roots_) : std::nullopt;
  // A virtual machine with one node hides the nodes of its host, whatever number it gives that one.
  if (is_virtual == true) {
    return {};
  }
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
  if (is_virtual == false) {
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

namespace {

// The topology as /proc and /sys tell it.

std::vector<int> intersection(const std::vector<int>& left, const std::vector<int>& right) {
  std::vector<int> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

// A list in /proc/self/status, e.g. `Cpus_allowed_list`.
std::optional<std::vector<int>> status_list(const Roots& roots, const char* key) {
  const auto status = sysfs::read_text(roots.filesystem / "proc/self/status");
  const auto value = status ? sysfs::value_of(*status, key) : std::nullopt;
  return value ? sysfs::parse_list(*value) : std::nullopt;
}

// `Node 0 MemTotal:       24682416 kB`
std::optional<std::uint64_t> node_memory_bytes(const std::filesystem::path& node) {
  const std::string text = sysfs::read_text(node / "meminfo").value_or("");
  for (const std::string& line : sysfs::split_lines(text)) {
    const std::size_t key = line.find("MemTotal:");
    if (key != std::string::npos) {
      return sysfs::parse_size(line.substr(key + 9));
    }
  }
  return std::nullopt;
}

}  // namespace

void TopologyBuilder::read_kernel() {
  read_kernel_cpus();
  read_kernel_nodes();
  read_kernel_distances();
  read_kernel_cores();
  read_kernel_caches();
}

void TopologyBuilder::read_kernel_cpus() {
  const auto directory = topology.roots_.filesystem / "sys/devices/system/cpu";
  auto online = sysfs::read_list(directory / "online");
  if (!online || online->empty()) {
    online.emplace();
    for (const std::string& name : sysfs::list_directory(directory)) {
      if (const auto cpu = sysfs::number_after(name, "cpu")) {
        online->push_back(*cpu);
      }
    }
    std::sort(online->begin(), online->end());
  }
  const auto allowed = status_list(topology.roots_, "Cpus_allowed_list");
  if (online->empty()) {
    // No sysfs at all: the CPUs that this process may use are the ones known to exist.
    online = allowed && !allowed->empty() ? *allowed : std::vector<int>{0};
  }
  topology.online_cpus_ = *online;
  topology.allowed_cpus_ = allowed ? intersection(*online, *allowed) : *online;
}

void TopologyBuilder::read_kernel_nodes() {
  const auto directory = topology.roots_.filesystem / "sys/devices/system/node";
  const auto online = sysfs::read_list(directory / "online");
  const auto allowed = status_list(topology.roots_, "Mems_allowed_list");
  for (const std::string& name : sysfs::list_directory(directory)) {
    const auto id = sysfs::number_after(name, "node");
    if (!id || (online && !std::binary_search(online->begin(), online->end(), *id))) {
      continue;
    }
    const auto cpus = sysfs::read_list(directory / name / "cpulist");
    if (!cpus) {
      topology.nodes_.clear();
      topology.why_numa_unknown_ = "the CPUs of " + name + " in /sys/devices/system/node cannot be read";
      return;
    }
    Node node;
    node.id = *id;
    node.cpus = intersection(*cpus, topology.online_cpus_);
    node.memory_bytes = node_memory_bytes(directory / name);
    node.memory_allowed = !allowed || std::binary_search(allowed->begin(), allowed->end(), *id);
    topology.nodes_.push_back(node);
  }
  topology.numa_known_ = !topology.nodes_.empty();
  if (!topology.numa_known_) {
    topology.why_numa_unknown_ = "the kernel exposes no nodes in /sys/devices/system/node";
  }
}

void TopologyBuilder::read_kernel_distances() {
  for (const Node& node : topology.nodes_) {
    const auto path = topology.roots_.filesystem / "sys/devices/system/node" /
                      ("node" + std::to_string(node.id)) / "distance";
    const auto row = sysfs::split_words(sysfs::read_text(path).value_or(""));
    if (row.size() != topology.nodes_.size()) {
      continue;  // columns are the online nodes in order; anything else cannot be told apart
    }
    for (std::size_t column = 0; column < row.size(); ++column) {
      const auto distance = sysfs::parse_integer(row[column]);
      if (distance && *distance > 0 && *distance <= 255) {
        topology.distances_[{node.id, topology.nodes_[column].id}] = static_cast<int>(*distance);
      }
    }
  }
}

void TopologyBuilder::read_kernel_cores() {
  std::set<std::string> cores;
  std::set<std::int64_t> packages;
  std::size_t widest = 0;
  for (const int cpu : topology.online_cpus_) {
    const auto directory =
        topology.roots_.filesystem / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    auto siblings = sysfs::read_list(directory / "core_cpus_list");
    if (!siblings) {
      siblings = sysfs::read_list(directory / "thread_siblings_list");  // its name before Linux 5.3
    }
    const auto package = sysfs::read_integer(directory / "physical_package_id");
    if (!siblings || siblings->empty()) {
      return;
    }
    cores.insert(sysfs::format_list(*siblings));
    widest = std::max(widest, siblings->size());
    if (package && *package >= 0) {
      packages.insert(*package);
    }
  }
  topology.cores_ = static_cast<int>(cores.size());
  topology.threads_per_core_ = static_cast<int>(widest);
  if (!packages.empty()) {
    topology.packages_ = static_cast<int>(packages.size());
  }
}

void TopologyBuilder::read_kernel_caches() {
  std::set<std::tuple<std::int64_t, std::string, std::string>> seen;
  for (const int cpu : topology.online_cpus_) {
    const auto directory =
        topology.roots_.filesystem / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cache";
    for (const std::string& name : sysfs::list_directory(directory)) {
      if (!sysfs::number_after(name, "index")) {
        continue;
      }
      const auto level = sysfs::read_integer(directory / name / "level");
      std::string type = sysfs::read_text(directory / name / "type").value_or("");
      const auto shared = sysfs::read_list(directory / name / "shared_cpu_list");
      if (!level || *level < 1 || *level > 9 || !shared || shared->empty() ||
          (type != "Data" && type != "Instruction" && type != "Unified")) {
        continue;
      }
      if (!seen.emplace(*level, type, sysfs::format_list(*shared)).second) {
        continue;
      }
      const auto bytes = sysfs::parse_size(sysfs::read_text(directory / name / "size").value_or(""));
      if (bytes && *bytes > 0) {
        type[0] = static_cast<char>(type[0] - 'A' + 'a');
        add_cache({static_cast<int>(*level), type, *bytes, static_cast<int>(shared->size())});
      }
    }
  }
}

namespace {

// The topology as hwloc tells it: from an XML export, or what the kernel's files left open.

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
