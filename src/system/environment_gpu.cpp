// GPUs and their driver: what the CUDA runtime, NVML and the kernel each say, joined.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "grainscope/system/environment.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

namespace fs = std::filesystem;

std::optional<int> small_number(const fs::path& path) {
  const auto number = sysfs::read_integer(path);
  return number && *number > 0 && *number <= 64 ? std::optional<int>(static_cast<int>(*number))
                                                : std::nullopt;
}

// `16.0 GT/s PCIe` is generation 4.
std::optional<int> link_generation(const fs::path& path) {
  constexpr double kRates[] = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  const auto words = sysfs::split_words(sysfs::read_text(path).value_or(""));
  if (words.size() < 2 || words[1] != "GT/s") {
    return std::nullopt;
  }
  const double rate = std::strtod(words[0].c_str(), nullptr);
  for (int generation = 1; generation <= static_cast<int>(std::size(kRates)); ++generation) {
    if (std::abs(rate - kRates[generation - 1]) < 0.01) {
      return generation;
    }
  }
  return std::nullopt;
}

void read_kernel_view(const Roots& roots, GpuReport& gpu) {
  if (gpu.pci_bus_id.empty()) {
    return;
  }
  const fs::path device = roots.filesystem / "sys/bus/pci/devices" / gpu.pci_bus_id;
  gpu.sysfs_link_width = small_number(device / "current_link_width");
  gpu.sysfs_link_width_max = small_number(device / "max_link_width");
  gpu.sysfs_link_generation = link_generation(device / "current_link_speed");
  gpu.sysfs_link_generation_max = link_generation(device / "max_link_speed");
  const auto domain = sysfs::read_text(device / "iommu_group/type");
  gpu.iommu = domain && !domain->empty() ? domain : std::nullopt;
}

// sysfs and hwloc know best; NVML's list of CPUs and the CUDA driver's node are asked after them.
PciLocality locality_of(const Topology& topology, const GpuReport& gpu) {
  PciLocality near = topology.pci_locality(gpu.pci_bus_id);
  if (!near.node && gpu.cuda && topology.find_node(gpu.cuda->host_numa_node) != nullptr) {
    return {gpu.cuda->host_numa_node, topology.find_node(gpu.cuda->host_numa_node)->cpus, "CUDA driver"};
  }
  const bool nvml_knows = gpu.nvml && gpu.nvml->local_cpus && !gpu.nvml->local_cpus->empty();
  if (near.node || !nvml_knows || topology.nodes().size() < 2) {
    return near;
  }
  std::vector<int> ids;
  for (const int cpu : *gpu.nvml->local_cpus) {
    const auto id = topology.node_of_cpu(cpu);
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) {
      ids.push_back(*id);
    }
  }
  // CPUs of every node are NVML's way to say that it does not know either.
  if (ids.size() == 1) {
    return {ids.front(), *gpu.nvml->local_cpus, "NVML"};
  }
  return near;
}

// Those that an NVML device tells of. Of a GPU that MIG has cut up CUDA shows the slices, which have the
// GPU's address and UUIDs of their own: all of them.
std::vector<GpuReport*> find_gpus(std::vector<GpuReport>& gpus, const std::string& uuid,
                                  const std::string& bus_id, bool sliced) {
  const auto that = [&](const auto& matches) {
    std::vector<GpuReport*> found;
    for (GpuReport& gpu : gpus) {
      if (matches(gpu)) {
        found.push_back(&gpu);
      }
    }
    return found;
  };
  auto named = that([&](const GpuReport& gpu) { return !uuid.empty() && gpu.uuid == uuid; });
  if (!named.empty() && !sliced) {
    return named;
  }
  auto there = that([&](const GpuReport& gpu) {
    const bool other_uuid = !uuid.empty() && !gpu.uuid.empty() && !sliced;
    return !bus_id.empty() && gpu.pci_bus_id == bus_id && !other_uuid;
  });
  return there.empty() ? named : there;
}

std::optional<std::string> kernel_driver_version(const Roots& roots) {
  const auto version = sysfs::read_text(roots.filesystem / "sys/module/nvidia/version");
  return version && !version->empty() ? version : std::nullopt;
}

std::optional<int> larger(const std::optional<int>& left, const std::optional<int>& right) {
  return left && right ? std::max(left, right) : (left ? left : right);
}

}  // namespace

std::optional<int> GpuReport::link_width_built() const {
  return larger(sysfs_link_width_max, nvml ? nvml->link_width_max : std::nullopt);
}

std::optional<int> GpuReport::link_generation_built() const {
  const auto by_nvml = nvml ? larger(nvml->gpu_link_generation_max, nvml->link_generation_max) : std::nullopt;
  return larger(sysfs_link_generation_max, by_nvml);
}

std::vector<GpuReport> read_gpus(const Roots& roots, const Topology& topology,
                                 const cuda::RuntimeReport& runtime, const NvmlReport& nvml) {
  std::vector<GpuReport> gpus;
  for (const cuda::DeviceProperties& device : runtime.devices) {
    GpuReport gpu;
    gpu.name = device.name;
    gpu.uuid = device.uuid;
    gpu.pci_bus_id = device.pci_bus_id.empty() ? "" : normal_pci_bus_id(device.pci_bus_id);
    gpu.cuda = device;
    gpus.push_back(gpu);
  }
  for (const NvmlDevice& device : nvml.devices) {
    const std::string uuid = device.uuid.value_or("");
    const std::string bus_id = device.pci_bus_id ? normal_pci_bus_id(*device.pci_bus_id) : "";
    std::vector<GpuReport*> found = find_gpus(gpus, uuid, bus_id, device.mig == true);
    if (found.empty()) {
      found = {&gpus.emplace_back()};
      found.front()->name = device.name.value_or("unknown");
    }
    for (GpuReport* const gpu : found) {
      gpu->uuid = gpu->uuid.empty() ? uuid : gpu->uuid;
      gpu->pci_bus_id = gpu->pci_bus_id.empty() ? bus_id : gpu->pci_bus_id;
      gpu->nvml = device;
    }
  }
  for (GpuReport& gpu : gpus) {
    read_kernel_view(roots, gpu);
    gpu.near = locality_of(topology, gpu);
  }
  return gpus;
}

DriverReport read_driver(const Roots& roots, const cuda::RuntimeReport& runtime, const NvmlReport& nvml) {
  DriverReport driver;
  driver.version = nvml.driver_version.empty() ? kernel_driver_version(roots) : nvml.driver_version;
  const auto banner = sysfs::read_text(roots.filesystem / "proc/driver/nvidia/version");
  if (banner && banner->find("NVRM version") != std::string::npos) {
    driver.open_kernel_module = banner->find("Open Kernel Module") != std::string::npos;
  }
  driver.cuda_driver_version = runtime.driver_version;
  driver.cuda_toolkit_version = runtime.toolkit_version;
  driver.why_no_cuda = runtime.why_none;
  driver.why_no_nvml = nvml.why_none;
  driver.confidential_computing = nvml.confidential_computing;
  // All of them bear on how managed memory moves; which there are changes with the driver.
  const fs::path parameters = roots.filesystem / "sys/module/nvidia_uvm/parameters";
  for (const std::string& name : sysfs::list_directory(parameters)) {
    if (const auto value = sysfs::read_text(parameters / name); value && value->size() < 64) {
      driver.uvm_parameters[name] = *value;
    }
  }
  return driver;
}

Environment read_environment(const Roots& roots, const Topology& topology, const cuda::RuntimeReport& runtime,
                             const NvmlReport& nvml) {
  Environment environment;
  environment.cpu = read_cpu(roots, topology);
  environment.memory = read_memory(roots, topology);
  environment.kernel = read_kernel(roots);
  environment.load = read_load(roots);
  environment.cgroup = cgroup_limits(roots);
  environment.driver = read_driver(roots, runtime, nvml);
  environment.gpus = read_gpus(roots, topology, runtime, nvml);
  environment.peers = runtime.peers;
  return environment;
}

}  // namespace grainscope
