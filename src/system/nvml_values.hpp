#ifndef GRAINSCOPE_SRC_SYSTEM_NVML_VALUES_HPP
#define GRAINSCOPE_SRC_SYSTEM_NVML_VALUES_HPP

// NVML's numbers as this suite's values.

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "grainscope/system/topology.hpp"
#include "nvml_api.hpp"

namespace grainscope::nvml {

inline std::optional<int> as_int(const std::optional<unsigned>& value) {
  return value && *value <= 0x7fffffff ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

// NVML's enable states are 0 and 1.
inline std::optional<bool> as_switch(const std::optional<unsigned>& value) {
  return value ? std::optional<bool>(*value != 0) : std::nullopt;
}

// Where the call gives a small number, the word it stands for; absent for a number that is not listed.
template <std::size_t N>
std::optional<std::string> word(const std::optional<unsigned>& number,
                                const std::array<const char*, N>& words) {
  return number && *number < N ? std::optional<std::string>(words[*number]) : std::nullopt;
}

inline std::string bus_id_of(const PciInfo& info) {
  return normal_pci_bus_id(std::string(info.bus_id, strnlen(info.bus_id, sizeof info.bus_id)));
}

}  // namespace grainscope::nvml

#endif
