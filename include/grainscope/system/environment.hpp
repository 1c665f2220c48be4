#ifndef GRAINSCOPE_SYSTEM_ENVIRONMENT_HPP
#define GRAINSCOPE_SYSTEM_ENVIRONMENT_HPP

// Everything about the machine that can change a number, read and never changed. Absent means that the
// machine does not tell. No serial numbers, no user names, no command lines.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/limits.hpp"
#include "grainscope/system/nvml.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope {

// CPUs whose frequency is steered alike: policies of the same driver, governor and limits are one entry.
struct FrequencyPolicy {
  std::vector<int> cpus;
  std::optional<std::string> driver;
  std::optional<std::string> governor;
  std::optional<std::string> energy_preference;  // e.g. `balance_performance`
  std::optional<std::uint64_t> hardware_min_khz, hardware_max_khz;
  std::optional<std::uint64_t> scaling_min_khz, scaling_max_khz;
  std::optional<std::uint64_t> slowest_now_khz, fastest_now_khz;  // over a few of its CPUs
};

struct CpuReport {
  std::optional<std::string> model, vendor, microcode;
  std::string architecture;
  std::optional<int> sockets, cores, threads_per_core;
  std::optional<bool> smt_active;
  std::vector<int> online, allowed;
  std::vector<Cache> caches;
  std::vector<FrequencyPolicy> policies;  // empty: frequency scaling is not exposed
  std::optional<bool> boost;
  std::string boost_source;                  // the file that told, e.g. `intel_pstate/no_turbo`
  std::optional<std::string> pstate_status;  // of intel_pstate or amd_pstate: `active`, `passive`, …
  std::optional<std::vector<int>> isolated, tickless;
};

struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0, free = 0, reserved = 0;  // pages
};

struct MemoryReport {
  std::optional<std::uint64_t> total_bytes;
  AvailableMemory available;
  std::vector<Node> nodes;
  bool numa_known = false;
  std::string why_numa_unknown;
  std::optional<int> numa_balancing;
  std::optional<std::string> transparent_huge, transparent_huge_defrag;
  std::vector<HugePagePool> huge_pages;
  // Whether this process may bind memory and see where it is; absent in a report on another machine.
  std::optional<bool> policy_available;
  std::string why_no_policy;
  std::optional<std::uint64_t> memlock_bytes;  // kUnlimited: no limit
  std::uint64_t base_page_bytes = 0;
};

struct PressureReport {  // percent of time some (or all) tasks waited, over the last 10 s
  std::optional<double> cpu_some, memory_some, memory_full, io_some, io_full;
};

struct KernelReport {
  std::optional<std::string> release, distribution;
  std::optional<int> address_randomisation;
  std::optional<std::string> clock_source;
  std::vector<std::string> clock_sources_available;
  std::vector<std::string> iommu_options;               // of the kernel command line
  std::optional<std::vector<std::string>> iommu_units;  // of /sys/class/iommu; empty: none
  std::optional<bool> virtual_machine;
  std::optional<std::string> hypervisor, product;
  std::optional<std::string> container;  // what tells of one, e.g. `docker`
};

struct LoadReport {
  std::optional<double> average_1, average_5, average_15;
  PressureReport pressure;
};

// One GPU as the CUDA runtime, NVML and the kernel see it, joined by UUID, then by PCI address.
struct GpuReport {
  std::string name;
  std::string uuid;                            // empty: not told
  std::string pci_bus_id;                      // empty: not told
  std::optional<cuda::DeviceProperties> cuda;  // absent: CUDA does not show it to this process
  std::optional<NvmlDevice> nvml;
  PciLocality near;
  std::optional<std::string> iommu;  // of its group: `identity`, `DMA`, `DMA-FQ`
  // The kernel's view of the link: used where NVML is missing, and for what the GPU alone could do.
  std::optional<int> sysfs_link_width, sysfs_link_width_max;
  std::optional<int> sysfs_link_generation, sysfs_link_generation_max;

  // The widest and fastest link this GPU is built for, by whoever tells.
  [[nodiscard]] std::optional<int> link_width_built() const;
  [[nodiscard]] std::optional<int> link_generation_built() const;
};

struct DriverReport {
  std::optional<std::string> version;
  std::optional<bool> open_kernel_module;
  std::optional<int> cuda_driver_version, cuda_toolkit_version;
  std::string why_no_cuda, why_no_nvml;
  std::optional<bool> confidential_computing;
  std::map<std::string, std::string> uvm_parameters;  // those that are readable
};

struct Environment {
  CpuReport cpu;
  MemoryReport memory;
  KernelReport kernel;
  LoadReport load;
  CgroupLimits cgroup;
  DriverReport driver;
  std::vector<GpuReport> gpus;
  std::vector<cuda::PeerLink> peers;
};

// Reads the machine. Never throws for what it does not tell.
[[nodiscard]] Environment read_environment(const Roots& roots, const Topology& topology,
                                           const cuda::RuntimeReport& runtime, const NvmlReport& nvml);

// The parts, each of which can be read alone.
[[nodiscard]] CpuReport read_cpu(const Roots& roots, const Topology& topology);
[[nodiscard]] MemoryReport read_memory(const Roots& roots, const Topology& topology);
[[nodiscard]] KernelReport read_kernel(const Roots& roots);
[[nodiscard]] LoadReport read_load(const Roots& roots);
[[nodiscard]] DriverReport read_driver(const Roots& roots, const cuda::RuntimeReport& runtime,
                                       const NvmlReport& nvml);
[[nodiscard]] std::vector<GpuReport> read_gpus(const Roots& roots, const Topology& topology,
                                               const cuda::RuntimeReport& runtime, const NvmlReport& nvml);

}  // namespace grainscope

#endif
