// What one GPU tells through the NVIDIA management library.

#include <array>
#include <iterator>

#include "nvml_state.hpp"
#include "nvml_values.hpp"

namespace grainscope {

namespace {

// The bits of NVML's mask, from the lowest.
constexpr std::string_view kEventReasons[] = {"gpu_idle",
                                              "applications_clocks_setting",
                                              "sw_power_cap",
                                              "hw_slowdown",
                                              "sync_boost",
                                              "sw_thermal_slowdown",
                                              "hw_thermal_slowdown",
                                              "hw_power_brake_slowdown",
                                              "display_clock_setting",
                                              "board_limit",
                                              "reliability"};

constexpr std::array<const char*, 4> kComputeModes = {"default", "exclusive_thread", "prohibited",
                                                      "exclusive_process"};
constexpr std::array<const char*, 3> kAddressingModes = {"none", "hmm", "ats"};
}  // namespace

std::vector<std::string> clock_event_reason_names(std::uint64_t mask) {
  std::vector<std::string> names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((mask >> bit & 1) != 0) {
      names.push_back(bit < std::size(kEventReasons) ? std::string(kEventReasons[bit])
                                                     : "bit_" + std::to_string(bit));
    }
  }
  return names;
}

namespace nvml {

namespace {

std::optional<std::string> text_of(Call<Device, char*, unsigned> function, Device device) {
  char text[128] = {};
  if (function == nullptr || function(device, text, sizeof text - 1) != kSuccess || text[0] == '\0') {
    return std::nullopt;
  }
  return text;
}

std::optional<unsigned> current_of(Call<Device, unsigned*, unsigned*> function, Device device) {
  unsigned current = 0, pending = 0;
  if (function == nullptr || function(device, &current, &pending) != kSuccess) {
    return std::nullopt;
  }
  return current;
}

void read_clocks(const Api& api, Device device, NvmlDevice& found) {
  constexpr int kSm = 1, kMemory = 2, kGpuSensor = 0;
  found.sm_clock_mhz = as_int(ask<unsigned>(api.clock, device, kSm));
  found.memory_clock_mhz = as_int(ask<unsigned>(api.clock, device, kMemory));
  found.sm_clock_max_mhz = as_int(ask<unsigned>(api.clock_max, device, kSm));
  found.memory_clock_max_mhz = as_int(ask<unsigned>(api.clock_max, device, kMemory));
  found.clock_event_reasons = event_reasons(api, device);
  found.temperature_c = as_int(ask<unsigned>(api.temperature, device, kGpuSensor));
  found.power_limit_mw = as_int(ask<unsigned>(api.enforced_power_limit, device));
  if (!found.power_limit_mw) {
    found.power_limit_mw = as_int(ask<unsigned>(api.power_limit, device));
  }
  if (api.energy != nullptr) {
    found.energy_counter = ask<unsigned long long>(api.energy, device).has_value();
  }
}

void read_modes(const Api& api, Device device, NvmlDevice& found) {
  found.ecc = as_switch(current_of(api.ecc, device));
  found.mig = as_switch(current_of(api.mig, device));
  found.persistence = as_switch(ask<unsigned>(api.persistence, device));
  found.compute_mode = word(ask<unsigned>(api.compute_mode, device), kComputeModes);
  AddressingMode mode{kAddressingModeVersion, 0};
  if (api.addressing_mode != nullptr && api.addressing_mode(device, &mode) == kSuccess) {
    found.addressing_mode = word(mode.value, kAddressingModes);
  }
}

}  // namespace

std::optional<std::string> device_uuid(const Api& api, Device device) {
  return text_of(api.uuid, device);
}

std::optional<NvmlLinkState> link_now(const Api& api, Device device) {
  const auto generation = as_int(ask<unsigned>(api.link_generation, device));
  const auto width = as_int(ask<unsigned>(api.link_width, device));
  return generation && width ? std::optional<NvmlLinkState>({*generation, *width}) : std::nullopt;
}

std::optional<std::vector<std::string>> event_reasons(const Api& api, Device device) {
  const auto mask = ask<unsigned long long>(api.clock_event_reasons, device);
  return mask ? std::optional(clock_event_reason_names(*mask)) : std::nullopt;
}

NvmlDevice read_device(const Api& api, Device device) {
  NvmlDevice found;
  found.name = text_of(api.name, device);
  found.uuid = device_uuid(api, device);
  if (const auto pci = ask<PciInfo>(api.pci_info, device)) {
    found.pci_bus_id = bus_id_of(*pci);
  }
  read_links(api, device, found);
  read_clocks(api, device, found);
  read_modes(api, device, found);
  if (const auto memory = ask<Memory>(api.memory, device)) {
    found.memory_bytes = memory->total;
    found.memory_used_bytes = memory->used;
  }
  if (const auto bar1 = ask<Bar1Memory>(api.bar1_memory, device)) {
    found.bar1_bytes = bar1->total;
  }
  found.processes = processes_of(api, device);
  return found;
}

}  // namespace nvml

}  // namespace grainscope
