#ifndef GRAINSCOPE_SRC_SYSTEM_NVML_FIELDS_HPP
#define GRAINSCOPE_SRC_SYSTEM_NVML_FIELDS_HPP

// The fields of NVML's data tables under their names, once for reading and writing.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "grainscope/system/nvml.hpp"

namespace grainscope {

template <class Process, class Visit>
void visit_process(Process& process, Visit visit) {
  visit("pid", process.pid);
  visit("name", process.name);
  visit("used_bytes", process.used_bytes);
  visit("kind", process.kind);
}

template <class Nvlink, class Visit>
void visit_nvlink(Nvlink& link, Visit visit) {
  visit("link", link.link);
  visit("active", link.active);
  visit("version", link.version);
  visit("speed_mb_s", link.speed_mb_s);
  visit("remote_type", link.remote_type);
  visit("remote_pci_bus_id", link.remote_pci_bus_id);
}

// All but `processes` and `nvlinks`, which are tables themselves.
template <class Device, class Visit>
void visit_device(Device& device, Visit visit) {
  visit("name", device.name);
  visit("uuid", device.uuid);
  visit("vbios_version", device.vbios_version);
  visit("pci_bus_id", device.pci_bus_id);
  visit("link_generation", device.link_generation);
  visit("link_width", device.link_width);
  visit("link_generation_max", device.link_generation_max);
  visit("link_width_max", device.link_width_max);
  visit("gpu_link_generation_max", device.gpu_link_generation_max);
  visit("pcie_replays", device.pcie_replays);
  visit("sm_clock_mhz", device.sm_clock_mhz);
  visit("sm_clock_max_mhz", device.sm_clock_max_mhz);
  visit("memory_clock_mhz", device.memory_clock_mhz);
  visit("memory_clock_max_mhz", device.memory_clock_max_mhz);
  visit("clock_event_reasons", device.clock_event_reasons);
  visit("ecc", device.ecc);
  visit("persistence", device.persistence);
  visit("mig", device.mig);
  visit("compute_mode", device.compute_mode);
  visit("addressing_mode", device.addressing_mode);
  visit("bar1_bytes", device.bar1_bytes);
  visit("memory_bytes", device.memory_bytes);
  visit("memory_used_bytes", device.memory_used_bytes);
  visit("power_limit_mw", device.power_limit_mw);
  visit("temperature_c", device.temperature_c);
  visit("energy_counter", device.energy_counter);
  visit("local_cpus", device.local_cpus);
  visit("c2c_links", device.c2c_links);
}

template <class T>
nlohmann::json to_json_value(const T& value) {
  return value;
}
template <class T>
nlohmann::json to_json_value(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

[[nodiscard]] nlohmann::json nvml_device_json(const NvmlDevice& device);

}  // namespace grainscope

#endif
