// Findings about the host: CPUs, memory, kernel.

#include "grainscope/system/warnings.hpp"

#include <algorithm>
#include <array>

#include "format.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

constexpr const char* kNothingToDo = "nothing to do from inside this system";

#ifdef __OPTIMIZE__
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

void check_governors(const CpuReport& cpu, std::vector<Warning>& found) {
  std::vector<std::string> others, unknown;
  for (const FrequencyPolicy& policy : cpu.policies) {
    const std::string cpus = " on CPUs " + sysfs::format_list(policy.cpus);
    if (!policy.governor) {
      unknown.push_back(sysfs::format_list(policy.cpus));
    } else if (*policy.governor != "performance") {
      others.push_back(*policy.governor + cpus);
    }
  }
  if (!others.empty()) {
    found.push_back({"cpu.governor", Severity::warning, "the frequency governor is " + join(others),
                     "CPUs slow down between samples: latencies and host-side times vary and are too long",
                     "sudo cpupower frequency-set --governor performance"});
  }
  if (cpu.policies.empty() || !unknown.empty()) {
    const std::string where = unknown.empty() ? "" : " of CPUs " + join(unknown);
    found.push_back(
        {"cpu.governor_unknown", Severity::info, "frequency scaling" + where + " is unknown (not exposed)",
         "host-side times may depend on a clock that is not told here; visits measure it (state.cpu_mhz)",
         kNothingToDo});
  }
}

void check_frequency_caps(const CpuReport& cpu, std::vector<Warning>& found) {
  for (const FrequencyPolicy& policy : cpu.policies) {
    if (policy.scaling_max_khz && policy.hardware_max_khz &&
        *policy.scaling_max_khz < *policy.hardware_max_khz) {
      found.push_back(
          {"cpu.frequency_cap", Severity::warning,
           "CPUs " + sysfs::format_list(policy.cpus) + " are held to " + format_khz(*policy.scaling_max_khz) +
               " of " + format_khz(*policy.hardware_max_khz),
           "host-side bandwidth and latency are those of a slower CPU",
           "sudo cpupower frequency-set --max " + std::to_string(*policy.hardware_max_khz) + "kHz"});
    }
  }
}

// A mask of taskset, Slurm or a cpuset, which cases of several threads and nodes follow.
void check_mask(const CpuReport& cpu, std::vector<Warning>& found) {
  if (cpu.allowed.size() < cpu.online.size()) {
    found.push_back({"cpu.mask", Severity::warning,
                     "this process may use " + std::to_string(cpu.allowed.size()) + " of " +
                         count_of(cpu.online.size(), "CPU") + ": " + sysfs::format_list(cpu.allowed),
                     "cases have no more threads than that, and nodes without one of these CPUs are left out",
                     "to judge the whole machine, start without a mask (taskset; `srun --exclusive "
                     "--cpu-bind=none`; a container without `--cpuset-cpus`)"});
  }
}

std::string boost_off_command(const std::string& source) {
  return source == "intel_pstate/no_turbo"
             ? "to hold it off: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
             : "to hold it off: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost";
}

void check_load(const Environment& environment, std::vector<Warning>& found) {
  const double cpus = std::max<double>(1, static_cast<double>(environment.cpu.allowed.size()));
  const auto& load = environment.load;
  if (load.average_1 && *load.average_1 >= std::max(1.0, 0.5 * cpus)) {
    found.push_back({"load.average", Severity::warning,
                     "the load average is " + format_number(*load.average_1, 1) + " with " +
                         count_of(environment.cpu.allowed.size(), "allowed CPU"),
                     "other work takes CPU time, memory bandwidth and caches from the samples",
                     "stop the other work (`top` shows it), and wait a minute"});
  }
  if (load.pressure.cpu_some.value_or(0) >= 10) {
    found.push_back({"load.cpu_pressure", Severity::warning,
                     "in the last 10 s some task waited for a CPU " +
                         format_number(*load.pressure.cpu_some, 0) + " % of the time",
                     "samples are stretched by waiting", "stop the other work (`top` shows it)"});
  }
  if (load.pressure.memory_full.value_or(0) >= 1) {
    found.push_back({"load.memory_pressure", Severity::warning,
                     "in the last 10 s all tasks waited for memory " +
                         format_number(*load.pressure.memory_full, 0) + " % of the time",
                     "pages are reclaimed while samples are taken", "free memory, or choose smaller sizes"});
  }
}

void check_transparent_huge(const MemoryReport& memory, std::vector<Warning>& found) {
  constexpr const char* kRemedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  if (memory.transparent_huge == "never") {
    found.push_back({"memory.transparent_huge", Severity::info, "transparent huge pages are set to never",
                     "cases that ask for them are skipped", kRemedy});
  } else if (memory.transparent_huge == "always") {
    found.push_back(
        {"memory.transparent_huge", Severity::info, "transparent huge pages are set to always",
         "buffers of libraries may get huge pages by chance; the suite's own keep to what a case names",
         kRemedy});
  }
}

void check_nodes(const MemoryReport& memory, std::vector<Warning>& found) {
  if (!memory.numa_known) {
    found.push_back({"memory.nodes_unknown", Severity::info,
                     "NUMA nodes are unknown: " + memory.why_numa_unknown,
                     "one node stands for all, and the locality of cases is unknown", kNothingToDo});
  }
  if (memory.policy_available == false) {
    const bool several = memory.nodes.size() > 1;
    found.push_back({"memory.policy", several ? Severity::warning : Severity::info, memory.why_no_policy,
                     "memory is placed by first touch, and its placement cannot be verified",
                     "in a container: add `--cap-add SYS_NICE` to its start"});
  }
  if (memory.numa_balancing.value_or(0) != 0 && memory.nodes.size() > 1) {
    found.push_back({"memory.numa_balancing", Severity::warning, "automatic NUMA balancing is on",
                     "the kernel unmaps and moves pages while samples are taken",
                     "echo 0 | sudo tee /proc/sys/kernel/numa_balancing"});
  }
}

// Clocks that a program reads without entering the kernel.
bool reads_fast(const std::string& clock_source) {
  constexpr std::array<std::string_view, 5> kFast = {"tsc", "arch_sys_counter", "timebase", "kvm-clock",
                                                     "hyperv_clocksource_tsc_page"};
  return std::find(kFast.begin(), kFast.end(), clock_source) != kFast.end();
}

void check_clock(const KernelReport& kernel, std::vector<Warning>& found) {
  if (!kernel.clock_source || reads_fast(*kernel.clock_source)) {
    return;
  }
  const auto& available = kernel.clock_sources_available;
  const bool has_tsc = std::find(available.begin(), available.end(), "tsc") != available.end();
  found.push_back(
      {"kernel.clock_source", Severity::warning, "the clock source is " + *kernel.clock_source,
       "reading the time is a system call of a microsecond or more: short host samples are too long",
       has_tsc ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
               : "find out why the kernel distrusts the TSC: sudo dmesg | grep -i -e tsc -e clocksource"});
}

void check_iommu(const Environment& environment, std::vector<Warning>& found) {
  std::vector<std::string> translated;
  for (const GpuReport& gpu : environment.gpus) {
    if (gpu.iommu && gpu.iommu->rfind("DMA", 0) == 0) {
      translated.push_back(gpu.pci_bus_id);
    }
  }
  if (!translated.empty()) {
    found.push_back(
        {"kernel.iommu", Severity::warning, "the IOMMU translates the addresses of GPU " + join(translated),
         "transfers over many pages miss in the IOMMU's cache, and peer traffic goes through the root",
         "add `iommu=pt` to the kernel command line and reboot"});
  }
}

}  // namespace

std::string_view severity_name(Severity severity) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"info", "warning", "severe"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::vector<Warning> find_cpu_warnings(const Environment& environment) {
  std::vector<Warning> found;
  const CpuReport& cpu = environment.cpu;
  check_governors(cpu, found);
  check_frequency_caps(cpu, found);
  if (cpu.boost == true) {
    found.push_back(
        {"cpu.boost", Severity::info, "turbo or boost is on (" + cpu.boost_source + ")",
         "the CPU's frequency depends on load and temperature: host-side times vary a few percent",
         boost_off_command(cpu.boost_source)});
  }
  check_mask(cpu, found);
  const auto& quota = environment.cgroup.cpu_quota;
  if (quota && *quota < static_cast<double>(cpu.allowed.size())) {
    found.push_back(
        {"cpu.quota", Severity::warning,
         "the control group allows " + format_number(*quota, 2) + " CPUs' worth of time on " +
             count_of(cpu.allowed.size(), "CPU"),
         "threads are stopped for a part of each period: host-side samples have long outliers",
         "start the container without a CPU quota, and limit it by CPUs instead (`--cpuset-cpus`)"});
  }
  check_load(environment, found);
  return found;
}

std::vector<Warning> find_memory_warnings(const Environment& environment) {
  // Less than this, and not even one staging buffer of a library can be locked.
  constexpr std::uint64_t kSmallMemlock = std::uint64_t{64} << 20;
  std::vector<Warning> found;
  const MemoryReport& memory = environment.memory;
  check_nodes(memory, found);
  check_transparent_huge(memory, found);
  if (memory.memlock_bytes && *memory.memlock_bytes < kSmallMemlock) {
    found.push_back(
        {"memory.memlock", Severity::info, "this process may lock " + format_bytes(*memory.memlock_bytes),
         "pinning through CUDA is not bound by it; libraries that lock memory themselves may fail",
         "ulimit -l unlimited"});
  }
  const auto& limit = environment.cgroup.memory_limit_bytes;
  if (limit && memory.total_bytes && *limit < *memory.total_bytes) {
    found.push_back({"memory.cgroup_limit", Severity::info,
                     "the control group's memory limit is " + format_bytes(*limit) + " of " +
                         format_bytes(*memory.total_bytes),
                     "larger cases are skipped", "raise the container's limit (`--memory`)"});
  }
  return found;
}

std::vector<Warning> find_platform_warnings(const Environment& environment) {
  std::vector<Warning> found;
  if (environment.kernel.virtual_machine == true) {
    found.push_back(
        {"kernel.virtual_machine", Severity::warning, "this is a virtual machine",
         "the hypervisor may hide nodes, links and frequencies, and other guests may disturb",
         "to judge hardware, measure on the host, or on a guest with pinned CPUs and huge pages"});
  }
  check_clock(environment.kernel, found);
  check_iommu(environment, found);
  return found;
}

std::vector<Warning> judge_build(bool optimised, bool sanitized) {
  if (optimised && !sanitized) {
    return {};
  }
  return {{"build", Severity::severe,
           optimised ? "the program was built with sanitizers" : "the program was built without optimisation",
           "whatever CPUs do takes several times as long as the hardware allows",
           "build it by `cmake --preset cuda` or `cmake --preset cpu`"}};
}

std::vector<Warning> find_warnings(const Environment& environment) {
  std::vector<Warning> all = judge_build(kOptimised, kSanitized);
  for (const auto& find :
       {find_gpu_warnings, find_cpu_warnings, find_memory_warnings, find_platform_warnings}) {
    const auto found = find(environment);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Warning& left, const Warning& right) { return left.severity > right.severity; });
  return all;
}

namespace {

// Findings about GPUs, their links and their driver.

std::string label(const GpuReport& gpu) {
  const std::string number = gpu.cuda ? "GPU " + std::to_string(gpu.cuda->ordinal) : std::string("GPU");
  return number + " (" + gpu.name + (gpu.pci_bus_id.empty() ? "" : ", " + gpu.pci_bus_id) + ")";
}

std::string smi(const GpuReport& gpu, const std::string& option) {
  return "sudo nvidia-smi -i " + (gpu.pci_bus_id.empty() ? gpu.uuid : gpu.pci_bus_id) + " " + option;
}

// `x8 of x16 (15.8 instead of 31.5 GB/s)`
std::string narrower(int generation, int width, int full_generation, int full_width) {
  const auto now = pcie_link_gb_s(generation, width);
  const auto full = pcie_link_gb_s(full_generation, full_width);
  return now && full ? " (" + format_number(*now, 1) + " instead of " + format_number(*full, 1) + " GB/s)"
                     : "";
}

Warning narrow_link(const GpuReport& gpu, int width, int built, int generation, bool slot) {
  return {"gpu.link_width", Severity::severe,
          label(gpu) + (slot ? ": GPU and slot together have x" : ": the PCI Express link runs at x") +
              std::to_string(width) + " of x" + std::to_string(built) +
              narrower(generation, width, generation, built),
          "every transfer over the link is slower by that factor",
          slot
              ? "move the card to a slot with all its lanes (`sudo lspci -vv` shows LnkCap of the port above)"
              : "reseat the card and its riser, and check the slot's lanes (`sudo lspci -vv`: LnkSta against "
                "LnkCap)"};
}

void check_link(const GpuReport& gpu, std::vector<Warning>& found) {
  const auto from = [](const std::optional<int>& nvml, const std::optional<int>& sysfs) {
    return nvml ? nvml : sysfs;
  };
  const NvmlDevice device = gpu.nvml.value_or(NvmlDevice{});
  const auto width = from(device.link_width, gpu.sysfs_link_width);
  const auto generation = from(device.link_generation, gpu.sysfs_link_generation);
  const auto full_width = gpu.link_width_built();
  const auto full_generation = gpu.link_generation_built();
  const int reference = device.link_generation_max.value_or(full_generation.value_or(generation.value_or(0)));
  if (width && full_width && *width < *full_width) {
    // A link at the width that GPU and slot can do together is not trained down: the slot is too narrow.
    const bool slot = device.link_width_max == width;
    found.push_back(narrow_link(gpu, *width, *full_width, reference, slot));
  }
  if (device.link_generation_max && full_generation && *device.link_generation_max < *full_generation) {
    found.push_back({"gpu.slot_generation", Severity::warning,
                     label(gpu) + ": GPU and slot together do PCI Express " +
                         std::to_string(*device.link_generation_max) + ", the GPU alone " +
                         std::to_string(*full_generation),
                     "transfers are bounded by the slower side: this is not the GPU's best",
                     "check the slot's generation in the firmware set-up, or use a faster slot"});
  }
  if (generation && *generation < device.link_generation_max.value_or(full_generation.value_or(0))) {
    found.push_back({"gpu.link_idle", Severity::info,
                     label(gpu) + ": the link is at generation " + std::to_string(*generation) + " of " +
                         std::to_string(device.link_generation_max.value_or(*full_generation)) +
                         " while idle",
                     "none if it trains up under load, which the run checks",
                     "nothing to do: links train down to save power"});
  }
  if (device.pcie_replays.value_or(0) > 0) {
    found.push_back(
        {"gpu.pcie_replays", Severity::warning,
         label(gpu) + ": the link has repeated " + count_of(*device.pcie_replays, "packet"),
         "a count that grows during a run means a bad signal, which costs bandwidth",
         "compare `nvidia-smi -q | grep -i replay` before and after; if it grows, reseat card and riser"});
  }
}

void check_modes(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  if (device.mig == true) {
    found.push_back({"gpu.mig", Severity::warning, label(gpu) + ": MIG is on",
                     "a program sees one slice: bandwidths and caches are not the GPU's",
                     smi(gpu, "-mig 0")});
  }
  if (device.compute_mode == "prohibited") {
    found.push_back({"gpu.compute_mode", Severity::severe, label(gpu) + ": compute mode is prohibited",
                     "no program can use the GPU", smi(gpu, "-c DEFAULT")});
  } else if (device.compute_mode && *device.compute_mode != "default") {
    found.push_back({"gpu.compute_mode", Severity::info,
                     label(gpu) + ": compute mode is " + *device.compute_mode,
                     "the run fails while another process holds the GPU", smi(gpu, "-c DEFAULT")});
  }
  if (device.persistence == false) {
    found.push_back({"gpu.persistence", Severity::warning, label(gpu) + ": persistence mode is off",
                     "between programs the driver unloads: start-up is slow and set clocks are lost",
                     smi(gpu, "-pm 1")});
  }
  if (device.ecc == false) {
    found.push_back({"gpu.ecc", Severity::info, label(gpu) + ": ECC is off",
                     "device bandwidth and capacity may be higher than with it: compare like with like",
                     smi(gpu, "-e 1") + " and reboot"});
  }
}

void check_clocks(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  const auto active = [&](std::initializer_list<const char*> names) {
    std::vector<std::string> both;
    for (const std::string& reason : device.clock_event_reasons.value_or(std::vector<std::string>{})) {
      if (std::find(names.begin(), names.end(), reason) != names.end()) {
        both.push_back(reason);
      }
    }
    return join(both);
  };
  const std::string hard =
      active({"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"});
  const std::string soft = active({"sw_power_cap", "sync_boost", "board_limit", "reliability"});
  const std::string chosen = active({"applications_clocks_setting", "display_clock_setting"});
  if (!hard.empty()) {
    found.push_back({"gpu.slowdown", Severity::severe, label(gpu) + ": clocks are held down: " + hard,
                     "kernels and memory run slower than they should",
                     "check cooling and power: nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"});
  }
  if (!soft.empty()) {
    found.push_back({"gpu.clocks", Severity::warning, label(gpu) + ": clocks are limited: " + soft,
                     "kernels may run below their best clock",
                     "nvidia-smi -q -d PERFORMANCE,POWER tells more"});
  }
  if (!chosen.empty()) {
    found.push_back({"gpu.clocks_set", Severity::info, label(gpu) + ": clocks were set by someone: " + chosen,
                     "numbers are of those clocks", smi(gpu, "--reset-gpu-clocks")});
  }
}

void check_processes(const GpuReport& gpu, const NvmlDevice& device, std::vector<Warning>& found) {
  if (!device.processes || device.processes->empty()) {
    return;
  }
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> names;
  for (const NvmlProcess& process : *device.processes) {
    if (names.size() == kMostNames) {
      names.push_back("…");
      break;
    }
    names.push_back((process.name.empty() ? "" : process.name + " ") + std::to_string(process.pid));
  }
  found.push_back(
      {"gpu.processes", Severity::warning,
       label(gpu) + ": " + count_of(device.processes->size(), "other process") + " on it: " + join(names),
       "they share its link, memory and clocks", "wait for them, or end those that are yours"});
}

void check_locality(const Environment& environment, const GpuReport& gpu, std::vector<Warning>& found) {
  if (!gpu.near.node && environment.memory.nodes.size() > 1) {
    found.push_back({"gpu.node_unknown", Severity::warning,
                     label(gpu) + ": the NUMA node near it is unknown (the kernel says -1)",
                     "local and remote cannot be told apart: cases carry the locality `unknown`",
                     "`nvidia-smi topo -m` may tell; firmware settings for NUMA or ACPI SRAT may expose it"});
  }
}

void check_driver(const Environment& environment, std::vector<Warning>& found) {
  const DriverReport& driver = environment.driver;
  if (driver.confidential_computing == true) {
    found.push_back(
        {"driver.confidential_computing", Severity::severe, "confidential computing is on",
         "the GPU cannot reach host memory directly: zero-copy is skipped, copies are encrypted and slow",
         "switch it off on the host (NVIDIA's gpu-admin-tools: --set-cc-mode=off), if that is allowed"});
  }
  if (!driver.why_no_cuda.empty()) {
    found.push_back({"driver.no_cuda", Severity::info, "CUDA has no GPU: " + driver.why_no_cuda,
                     "GPU families are skipped; host and model families run, and what CPUs do of others",
                     "see the finding"});
  }
  if (!driver.why_no_nvml.empty()) {
    const bool has_gpu = !environment.gpus.empty();
    found.push_back({"driver.no_nvml", has_gpu ? Severity::warning : Severity::info, driver.why_no_nvml,
                     has_gpu ? "links, clocks, energy and other processes of the GPUs are unknown"
                             : "nothing is known of GPUs",
                     "see the finding"});
  }
}

}  // namespace

std::optional<double> pcie_link_gb_s(int generation, int width) noexcept {
  // 8b/10b, then 128b/130b; generation 6 carries 236 bytes of packets in a flit of 256.
  constexpr std::array<double, 6> kPerLane = {2.5 * 8 / 10,     5.0 * 8 / 10,     8.0 * 128 / 130,
                                              16.0 * 128 / 130, 32.0 * 128 / 130, 64.0 * 236 / 256};
  if (generation < 1 || generation > static_cast<int>(kPerLane.size()) || width < 1) {
    return std::nullopt;
  }
  return kPerLane[static_cast<std::size_t>(generation) - 1] / 8 * width;
}

std::vector<Warning> find_gpu_warnings(const Environment& environment) {
  std::vector<Warning> found;
  check_driver(environment, found);
  for (const GpuReport& gpu : environment.gpus) {
    check_link(gpu, found);
    if (gpu.nvml) {
      check_modes(gpu, *gpu.nvml, found);
      check_clocks(gpu, *gpu.nvml, found);
      check_processes(gpu, *gpu.nvml, found);
    }
    check_locality(environment, gpu, found);
    if (!gpu.cuda && environment.driver.why_no_cuda.empty()) {
      found.push_back({"gpu.hidden", Severity::info, label(gpu) + ": CUDA does not show it to this process",
                       "it is not measured", "unset CUDA_VISIBLE_DEVICES"});
    }
  }
  return found;
}

std::vector<Warning> judge_link_under_load(const GpuReport& gpu, const NvmlLinkState& under_load) {
  std::vector<Warning> found;
  const auto full_width = gpu.link_width_built();
  const auto full_generation =
      gpu.nvml && gpu.nvml->link_generation_max ? gpu.nvml->link_generation_max : gpu.link_generation_built();
  if (full_width && under_load.width < *full_width) {
    const bool slot = gpu.nvml && gpu.nvml->link_width_max == under_load.width;
    found.push_back(narrow_link(gpu, under_load.width, *full_width, under_load.generation, slot));
  }
  if (full_generation && under_load.generation < *full_generation) {
    found.push_back(
        {"gpu.link_generation", Severity::severe,
         label(gpu) + ": under load the link runs at generation " + std::to_string(under_load.generation) +
             " of " + std::to_string(*full_generation) +
             narrower(under_load.generation, under_load.width, *full_generation, under_load.width),
         "every transfer over the link is slower by that factor",
         "check the slot's speed in the firmware set-up, and reseat card and riser"});
  }
  return found;
}

}  // namespace grainscope
