// Findings about the host: CPUs, memory, kernel.

#include "grainscope/system/warnings.hpp"

#include <algorithm>
#include <array>

#include "format.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

constexpr const char* kNothingToDo = "nothing to do from inside this system";

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
    found.push_back({"cpu.governor_unknown", Severity::info,
                     "frequency scaling" + where + " is unknown (not exposed)",
                     "host-side times may depend on a frequency that cannot be seen here", kNothingToDo});
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

std::vector<Warning> find_warnings(const Environment& environment) {
  std::vector<Warning> all;
  for (const auto& find :
       {find_gpu_warnings, find_cpu_warnings, find_memory_warnings, find_platform_warnings}) {
    const auto found = find(environment);
    all.insert(all.end(), found.begin(), found.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Warning& left, const Warning& right) { return left.severity > right.severity; });
  return all;
}

}  // namespace grainscope
