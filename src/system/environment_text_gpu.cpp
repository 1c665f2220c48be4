// The report's sections on the driver and the GPUs.

#include <algorithm>

#include "format.hpp"
#include "grainscope/system/sysfs.hpp"
#include "text_table.hpp"

namespace grainscope {

namespace {

std::string number(const std::optional<int>& value, const std::string& unit = "") {
  return value ? std::to_string(*value) + unit : "unknown";
}

std::string size(const std::optional<std::uint64_t>& bytes) {
  return bytes ? format_bytes(*bytes) : "unknown";
}

// `generation 5 x16`
std::string link_text(const std::optional<int>& generation, const std::optional<int>& width) {
  if (!generation && !width) {
    return "unknown";
  }
  std::string text = "generation ";
  text += number(generation);
  text += width ? " x" : " of unknown width";
  text += width ? std::to_string(*width) : "";
  return text;
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

void write_driver(TextTable& table, const DriverReport& driver) {
  table.section("NVIDIA driver");
  const auto& open = driver.open_kernel_module;
  table.row("version", driver.version.value_or("unknown (no driver, or not exposed)") +
                           (open ? (*open ? ", open kernel module" : ", closed kernel module") : ""));
  const auto version = [](const std::optional<int>& value) {
    return value ? (*value == 0 ? "none" : format_cuda_version(*value)) : "unknown";
  };
  table.row("CUDA", "driver up to " + version(driver.cuda_driver_version) + ", built with toolkit " +
                        (driver.cuda_toolkit_version ? version(driver.cuda_toolkit_version) : "none"));
  if (!driver.why_no_cuda.empty()) {
    table.row("no CUDA because", driver.why_no_cuda);
  }
  if (!driver.why_no_nvml.empty()) {
    table.row("no NVML because", driver.why_no_nvml);
  }
  table.row("confidential", on_off(driver.confidential_computing));
  std::vector<std::string> parameters;
  for (const auto& [name, value] : driver.uvm_parameters) {
    parameters.push_back(name);
    parameters.back().append("=").append(value);
  }
  table.row("UVM parameters", parameters.empty() ? kUnknown : join(parameters, " "));
}

void write_link(TextTable& table, const GpuReport& gpu, const NvmlDevice& nvml) {
  const auto generation = nvml.link_generation ? nvml.link_generation : gpu.sysfs_link_generation;
  const auto width = nvml.link_width ? nvml.link_width : gpu.sysfs_link_width;
  table.row("PCI Express", "now " + link_text(generation, width) + ", with this slot at most " +
                               link_text(nvml.link_generation_max, nvml.link_width_max) + ", built for " +
                               link_text(gpu.link_generation_built(), gpu.link_width_built()));
  table.row("replays", nvml.pcie_replays ? std::to_string(*nvml.pcie_replays) : kUnknown);
  table.row("near", "node " + (gpu.near.node ? std::to_string(*gpu.near.node) : kUnknown) + ", CPUs " +
                        (gpu.near.cpus.empty() ? "unknown" : sysfs::format_list(gpu.near.cpus)) +
                        (gpu.near.source.empty() ? "" : " (by " + gpu.near.source + ")"));
  table.row("IOMMU group", gpu.iommu.value_or(kUnknown));
}

std::string nvlink_text(const std::vector<NvmlNvlink>& links) {
  if (links.empty()) {
    return "none";
  }
  const auto active =
      std::count_if(links.begin(), links.end(), [](const NvmlNvlink& link) { return link.active; });
  std::string text = std::to_string(active) + " of " + std::to_string(links.size()) + " links active";
  for (const NvmlNvlink& link : links) {
    if (link.active) {
      text += ", version " + (link.version.empty() ? "unknown" : link.version);
      text += link.speed_mb_s ? ", " + format_number(static_cast<double>(*link.speed_mb_s) / 1000, 1) +
                                    " GB/s each a direction"
                              : ", of unknown speed";
      return text.append(", to ").append(link.remote_type.empty() ? "unknown" : link.remote_type);
    }
  }
  return text;
}

void write_state(TextTable& table, const NvmlDevice& nvml) {
  table.row("clocks", "SM " + number(nvml.sm_clock_mhz) + " of " + number(nvml.sm_clock_max_mhz, " MHz") +
                          ", memory " + number(nvml.memory_clock_mhz) + " of " +
                          number(nvml.memory_clock_max_mhz, " MHz"));
  const auto& reasons = nvml.clock_event_reasons;
  table.row("clock events", reasons ? (reasons->empty() ? "none" : join(*reasons)) : kUnknown);
  table.row("modes", "ECC " + on_off(nvml.ecc) + ", persistence " + on_off(nvml.persistence) + ", MIG " +
                         on_off(nvml.mig) + ", compute mode " + or_unknown(nvml.compute_mode));
  table.row("addressing", or_unknown(nvml.addressing_mode));
  table.row("memory", size(nvml.memory_used_bytes) + " used of " + size(nvml.memory_bytes) + ", BAR1 " +
                          size(nvml.bar1_bytes));
  const auto watts = nvml.power_limit_mw
                         ? format_number(static_cast<double>(*nvml.power_limit_mw) / 1000, 0) + " W"
                         : std::string("unknown");
  table.row("power", "limit " + watts + ", " + number(nvml.temperature_c, " °C") + ", energy counter " +
                         (nvml.energy_counter ? yes_no(*nvml.energy_counter) : "unknown"));
  table.row("NVLink", nvml.nvlinks ? nvlink_text(*nvml.nvlinks) : kUnknown);
  if (nvml.c2c_links.value_or(0) > 0) {
    table.row("chip to chip", count_of(static_cast<std::uint64_t>(*nvml.c2c_links), "link"));
  }
  if (!nvml.processes) {
    table.row("other processes", kUnknown);
    return;
  }
  std::vector<std::string> names;
  for (const NvmlProcess& process : *nvml.processes) {
    names.push_back((process.name.empty() ? "unknown" : process.name) + " " + std::to_string(process.pid) +
                    " (" + process.kind + ", " + size(process.used_bytes) + ")");
  }
  table.row("other processes", names.empty() ? "none" : join(names));
}

void write_cuda(TextTable& table, const cuda::DeviceProperties& device) {
  // The runtime's zero stands for what it does not tell.
  const auto told = [](std::uint64_t bytes) { return bytes == 0 ? "unknown" : format_bytes(bytes); };
  table.row("compute",
            std::to_string(device.compute_major) + "." + std::to_string(device.compute_minor) + ", " +
                (device.sm_count > 0 ? std::to_string(device.sm_count) : "unknown") + " SMs, L2 " +
                told(device.l2_bytes) + ", memory " + told(device.total_memory_bytes) + ", " +
                count_of(static_cast<std::uint64_t>(std::max(device.copy_engines, 0)), "copy engine"));
  table.row("reaches the host", "mapped memory " + yes_no(device.can_map_host_memory) + ", managed at once " +
                                    yes_no(device.concurrent_managed_access) + ", pageable " +
                                    yes_no(device.pageable_memory_access) + ", by host page tables " +
                                    yes_no(device.pageable_memory_access_uses_host_page_tables) +
                                    ", native atomics " + yes_no(device.host_native_atomics));
}

}  // namespace

void write_gpus(TextTable& table, const Environment& environment) {
  write_driver(table, environment.driver);
  for (const GpuReport& gpu : environment.gpus) {
    table.section((gpu.cuda ? "GPU " + std::to_string(gpu.cuda->ordinal) : "GPU not shown by CUDA") + ": " +
                  gpu.name);
    table.row("UUID", gpu.uuid.empty() ? kUnknown : gpu.uuid);
    table.row("PCI address", gpu.pci_bus_id.empty() ? kUnknown : gpu.pci_bus_id);
    if (gpu.cuda) {
      write_cuda(table, *gpu.cuda);
    }
    write_link(table, gpu, gpu.nvml.value_or(NvmlDevice{}));
    if (gpu.nvml) {
      write_state(table, *gpu.nvml);
    } else {
      table.row("NVML", "unknown (" +
                            (environment.driver.why_no_nvml.empty() ? "it does not list this GPU"
                                                                    : environment.driver.why_no_nvml) +
                            ")");
    }
  }
  if (!environment.peers.empty()) {
    table.section("Peers");
  }
  for (const cuda::PeerLink& peer : environment.peers) {
    table.row(std::to_string(peer.from) + " to " + std::to_string(peer.to),
              std::string(peer.access ? "direct access" : "no direct access") +
                  (peer.native_atomics ? ", native atomics" : ", no native atomics"));
  }
}

}  // namespace grainscope
