// The topology as /proc and /sys tell it.

#include <algorithm>
#include <iterator>
#include <set>

#include "grainscope/system/sysfs.hpp"
#include "topology_builder.hpp"

namespace grainscope {

namespace {

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

}  // namespace grainscope
