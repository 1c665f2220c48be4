// What the machine is and how it is set up: processors, memory, kernel, load, GPUs and their driver. What the
// CUDA runtime, NVML and the kernel each say of a GPU is joined.

#include "grainscope/system/environment.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <tuple>

#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
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
  if (!near.node && gpu.cuda && topology.nodes().size() > 1 &&
      topology.find_node(gpu.cuda->host_numa_node) != nullptr) {
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

namespace {

// Processors: what they are, and who decides how fast they run.

namespace fs = std::filesystem;

// The first of the keys that cpuinfo has: architectures name things differently.
std::optional<std::string> first_value(const std::string& cpuinfo, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    auto value = sysfs::value_of(cpuinfo, key);
    if (value && !value->empty()) {
      return value;
    }
  }
  return std::nullopt;
}

// AArch64 kernels print numbers for names; the implementers are those of Arm's MIDR_EL1 register.
std::optional<std::string> arm_vendor(const std::string& cpuinfo) {
  static const std::map<std::string, std::string> kImplementers = {
      {"0x41", "Arm"},       {"0x42", "Broadcom"},  {"0x43", "Cavium"}, {"0x46", "Fujitsu"},
      {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},    {"0x50", "APM"},    {"0x51", "Qualcomm"},
      {"0x61", "Apple"},     {"0x6d", "Microsoft"}, {"0xc0", "Ampere"}};
  const auto code = sysfs::value_of(cpuinfo, "CPU implementer");
  const auto found = code ? kImplementers.find(*code) : kImplementers.end();
  return found == kImplementers.end() ? code : std::optional<std::string>(found->second);
}

std::optional<std::string> arm_model(const std::string& cpuinfo) {
  static const std::map<std::string, std::string> kParts = {
      {"0x41 0xd0c", "Neoverse N1"}, {"0x41 0xd40", "Neoverse V1"}, {"0x41 0xd49", "Neoverse N2"},
      {"0x41 0xd4f", "Neoverse V2"}, {"0x4e 0x004", "Carmel"},      {"0xc0 0xac3", "Ampere-1"}};
  const auto code = sysfs::value_of(cpuinfo, "CPU implementer");
  const auto part = sysfs::value_of(cpuinfo, "CPU part");
  if (!code || !part) {
    return std::nullopt;
  }
  const auto found = kParts.find(*code + " " + *part);
  return found == kParts.end() ? arm_vendor(cpuinfo).value_or(*code) + " part " + *part : found->second;
}

std::optional<std::string> nonempty(std::optional<std::string> text) {
  return text && !text->empty() ? text : std::nullopt;
}

FrequencyPolicy read_policy(const fs::path& directory, bool with_current) {
  FrequencyPolicy policy;
  // Unlike other lists of CPUs, this one separates with blanks.
  for (const std::string& word :
       sysfs::split_words(sysfs::read_text(directory / "affected_cpus").value_or(""))) {
    if (const auto cpu = sysfs::parse_list(word); cpu && cpu->size() == 1) {
      policy.cpus.push_back(cpu->front());
    }
  }
  policy.driver = nonempty(sysfs::read_text(directory / "scaling_driver"));
  policy.governor = nonempty(sysfs::read_text(directory / "scaling_governor"));
  policy.energy_preference = nonempty(sysfs::read_text(directory / "energy_performance_preference"));
  policy.hardware_min_khz = sysfs::read_unsigned(directory / "cpuinfo_min_freq");
  policy.hardware_max_khz = sysfs::read_unsigned(directory / "cpuinfo_max_freq");
  policy.scaling_min_khz = sysfs::read_unsigned(directory / "scaling_min_freq");
  policy.scaling_max_khz = sysfs::read_unsigned(directory / "scaling_max_freq");
  if (with_current) {
    policy.slowest_now_khz = policy.fastest_now_khz = sysfs::read_unsigned(directory / "scaling_cur_freq");
  }
  return policy;
}

bool steered_alike(const FrequencyPolicy& left, const FrequencyPolicy& right) {
  const auto key = [](const FrequencyPolicy& policy) {
    return std::tie(policy.driver, policy.governor, policy.energy_preference, policy.hardware_min_khz,
                    policy.hardware_max_khz, policy.scaling_min_khz, policy.scaling_max_khz);
  };
  return key(left) == key(right);
}

void join(FrequencyPolicy& group, const FrequencyPolicy& policy) {
  group.cpus.insert(group.cpus.end(), policy.cpus.begin(), policy.cpus.end());
  std::sort(group.cpus.begin(), group.cpus.end());
  if (policy.slowest_now_khz) {
    group.slowest_now_khz = std::min(group.slowest_now_khz.value_or(UINT64_MAX), *policy.slowest_now_khz);
    group.fastest_now_khz = std::max(group.fastest_now_khz.value_or(0), *policy.fastest_now_khz);
  }
}

std::vector<FrequencyPolicy> read_policies(const fs::path& cpu_directory) {
  // Kernels before 5.18 sleep 10 ms or more for the current frequency of an idle CPU, so it is read of a
  // few policies, evenly spread.
  constexpr std::size_t kMostCurrentReads = 8;
  std::vector<std::string> names = sysfs::list_directory(cpu_directory / "cpufreq");
  std::erase_if(names, [](const std::string& name) { return !sysfs::number_after(name, "policy"); });
  const std::size_t step = names.size() / kMostCurrentReads + 1;
  std::vector<FrequencyPolicy> groups;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const FrequencyPolicy policy = read_policy(cpu_directory / "cpufreq" / names[i], i % step == 0);
    if (!policy.driver && !policy.governor) {
      continue;  // an empty or unreadable policy tells nothing
    }
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const FrequencyPolicy& group) {
      return steered_alike(group, policy);
    });
    if (same == groups.end()) {
      groups.push_back(policy);
    } else {
      join(*same, policy);
    }
  }
  return groups;
}

void read_boost(const fs::path& cpu_directory, CpuReport& cpu) {
  if (const auto no_turbo = sysfs::read_switch(cpu_directory / "intel_pstate/no_turbo")) {
    cpu.boost = !*no_turbo;
    cpu.boost_source = "intel_pstate/no_turbo";
  } else if (const auto boost = sysfs::read_switch(cpu_directory / "cpufreq/boost")) {
    cpu.boost = boost;
    cpu.boost_source = "cpufreq/boost";
  }
  for (const char* driver : {"intel_pstate", "amd_pstate"}) {
    if (const auto status = nonempty(sysfs::read_text(cpu_directory / driver / "status"))) {
      cpu.pstate_status = std::string(driver) + " " + *status;
    }
  }
}

std::string architecture_name() {
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace

CpuReport read_cpu(const Roots& roots, const Topology& topology) {
  const fs::path directory = roots.filesystem / "sys/devices/system/cpu";
  const std::string cpuinfo = sysfs::read_text(roots.filesystem / "proc/cpuinfo").value_or("");
  CpuReport cpu;
  cpu.model = first_value(cpuinfo, {"model name", "cpu", "cpu model", "Model"});
  if (!cpu.model) {
    cpu.model = arm_model(cpuinfo);
  }
  cpu.vendor = first_value(cpuinfo, {"vendor_id", "vendor"});
  if (!cpu.vendor) {
    cpu.vendor = arm_vendor(cpuinfo);
  }
  cpu.microcode = nonempty(sysfs::read_text(directory / "cpu0/microcode/version"));
  if (!cpu.microcode) {
    cpu.microcode = first_value(cpuinfo, {"microcode"});
  }
  cpu.architecture = architecture_name();
  cpu.sockets = topology.packages();
  cpu.cores = topology.cores();
  cpu.threads_per_core = topology.threads_per_core();
  cpu.smt_active = sysfs::read_switch(directory / "smt/active");
  cpu.online = topology.online_cpus();
  cpu.allowed = topology.allowed_cpus();
  cpu.caches = topology.caches();
  cpu.policies = read_policies(directory);
  read_boost(directory, cpu);
  cpu.isolated = sysfs::read_list(directory / "isolated");
  cpu.tickless = sysfs::read_list(directory / "nohz_full");
  return cpu;
}

namespace {

// Memory, kernel and load.

namespace fs = std::filesystem;

std::vector<HugePagePool> read_pools(const fs::path& directory) {
  std::vector<HugePagePool> pools;
  for (const std::string& name : sysfs::list_directory(directory)) {
    constexpr std::string_view kPrefix = "hugepages-";
    const auto bytes =
        name.rfind(kPrefix, 0) == 0 ? sysfs::parse_size(name.substr(kPrefix.size())) : std::nullopt;
    const auto total = sysfs::read_unsigned(directory / name / "nr_hugepages");
    if (bytes && total) {
      pools.push_back({*bytes, *total, sysfs::read_unsigned(directory / name / "free_hugepages").value_or(0),
                       sysfs::read_unsigned(directory / name / "resv_hugepages").value_or(0)});
    }
  }
  std::sort(pools.begin(), pools.end(),
            [](const auto& left, const auto& right) { return left.page_bytes < right.page_bytes; });
  return pools;
}

std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  return whole && number >= 0 && number < 1e9 ? std::optional<double>(number) : std::nullopt;
}

// `some avg10=0.10 avg60=0.05 avg300=0.09 total=2314118`: the figure over 10 s of the line of this kind.
std::optional<double> pressure(const fs::path& path, const std::string& kind) {
  constexpr std::string_view kKey = "avg10=";
  for (const std::string& line : sysfs::split_lines(sysfs::read_text(path).value_or(""))) {
    const auto words = sysfs::split_words(line);
    if (words.size() > 1 && words[0] == kind && words[1].rfind(kKey, 0) == 0) {
      return parse_number(words[1].substr(kKey.size()));
    }
  }
  return std::nullopt;
}

// `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"`
std::optional<std::string> distribution_name(const Roots& roots) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (const char* path : {"etc/os-release", "usr/lib/os-release"}) {
    for (const std::string& line :
         sysfs::split_lines(sysfs::read_text(roots.filesystem / path).value_or(""))) {
      if (line.rfind(kKey, 0) == 0) {
        std::string name(sysfs::trim(std::string_view(line).substr(kKey.size())));
        std::erase(name, '"');
        return name.empty() ? std::nullopt : std::optional<std::string>(name);
      }
    }
  }
  return std::nullopt;
}

// The rest of a kernel command line may tell what is nobody's business; these words tell of the IOMMU.
std::vector<std::string> iommu_options(const Roots& roots) {
  std::vector<std::string> options;
  for (const std::string& word :
       sysfs::split_words(sysfs::read_text(roots.filesystem / "proc/cmdline").value_or(""))) {
    if (word.find("iommu") != std::string::npos) {
      options.push_back(word);
    }
  }
  return options;
}

std::optional<std::string> container_kind(const Roots& roots) {
  std::error_code error;
  if (fs::exists(roots.filesystem / ".dockerenv", error)) {
    return "docker";
  }
  if (fs::exists(roots.filesystem / "run/.containerenv", error)) {
    return "podman";
  }
  if (fs::exists(roots.filesystem / ".singularity.d", error)) {
    return "apptainer";
  }
  const std::string groups = sysfs::read_text(roots.filesystem / "proc/self/cgroup").value_or("");
  for (const char* kind : {"kubepods", "docker", "lxc"}) {
    if (groups.find(kind) != std::string::npos) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<std::string> hypervisor_name(const Roots& roots) {
  const auto type = sysfs::read_text(roots.filesystem / "sys/hypervisor/type");
  return type && !type->empty() ? type : std::nullopt;
}

}  // namespace

MemoryReport read_memory(const Roots& roots, const Topology& topology) {
  const fs::path transparent = roots.filesystem / "sys/kernel/mm/transparent_hugepage";
  MemoryReport memory;
  memory.total_bytes = total_memory_bytes(roots);
  memory.available = available_memory(roots);
  memory.nodes = topology.nodes();
  memory.numa_known = topology.numa_known();
  memory.why_numa_unknown = topology.why_numa_unknown();
  const auto balancing = sysfs::read_integer(roots.filesystem / "proc/sys/kernel/numa_balancing");
  if (balancing && *balancing >= 0 && *balancing < 16) {
    memory.numa_balancing = static_cast<int>(*balancing);
  }
  memory.transparent_huge = sysfs::read_choice(transparent / "enabled");
  memory.transparent_huge_defrag = sysfs::read_choice(transparent / "defrag");
  memory.huge_pages = read_pools(roots.filesystem / "sys/kernel/mm/hugepages");
  memory.memlock_bytes = memlock_limit(roots);
  memory.base_page_bytes = base_page_bytes();
  if (roots.is_this_machine()) {
    memory.policy_available = memory_policy_available(&memory.why_no_policy);
  }
  return memory;
}

KernelReport read_kernel(const Roots& roots) {
  const fs::path clock = roots.filesystem / "sys/devices/system/clocksource/clocksource0";
  const fs::path iommu = roots.filesystem / "sys/class/iommu";
  KernelReport kernel;
  kernel.release = sysfs::read_text(roots.filesystem / "proc/sys/kernel/osrelease");
  kernel.distribution = distribution_name(roots);
  const auto randomisation = sysfs::read_integer(roots.filesystem / "proc/sys/kernel/randomize_va_space");
  if (randomisation && *randomisation >= 0 && *randomisation <= 2) {
    kernel.address_randomisation = static_cast<int>(*randomisation);
  }
  const auto source = sysfs::read_text(clock / "current_clocksource");
  kernel.clock_source = source && !source->empty() ? source : std::nullopt;
  kernel.clock_sources_available =
      sysfs::split_words(sysfs::read_text(clock / "available_clocksource").value_or(""));
  kernel.iommu_options = iommu_options(roots);
  std::error_code error;
  if (fs::is_directory(iommu, error)) {
    kernel.iommu_units = sysfs::list_directory(iommu);
  }
  kernel.virtual_machine = is_virtual_machine(roots);
  kernel.hypervisor = hypervisor_name(roots);
  kernel.product = product_name(roots);
  kernel.container = container_kind(roots);
  return kernel;
}

LoadReport read_load(const Roots& roots) {
  const fs::path proc = roots.filesystem / "proc";
  LoadReport load;
  const auto words = sysfs::split_words(sysfs::read_text(proc / "loadavg").value_or(""));
  if (words.size() >= 3) {
    load.average_1 = parse_number(words[0]);
    load.average_5 = parse_number(words[1]);
    load.average_15 = parse_number(words[2]);
  }
  load.pressure.cpu_some = pressure(proc / "pressure/cpu", "some");
  load.pressure.memory_some = pressure(proc / "pressure/memory", "some");
  load.pressure.memory_full = pressure(proc / "pressure/memory", "full");
  load.pressure.io_some = pressure(proc / "pressure/io", "some");
  load.pressure.io_full = pressure(proc / "pressure/io", "full");
  return load;
}

}  // namespace grainscope
