#ifndef GRAINSCOPE_SYSTEM_CONDITIONS_HPP
#define GRAINSCOPE_SYSTEM_CONDITIONS_HPP

// What of a machine may change between two visits to a case and change its number: clocks, what holds them
// down, the link, memory errors. Absent is what the machine does not tell.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/system/nvml.hpp"

namespace grainscope {

struct Conditions {
  std::optional<std::string> governor;  // of the CPU that asks
  std::optional<int> cpu_mhz;
  std::optional<int> gpu_sm_mhz, gpu_memory_mhz;
  std::optional<std::vector<std::string>> throttle;  // names of clock_event_reason_names()
  std::optional<NvmlLinkState> link;
  std::optional<std::uint64_t> ecc_errors;  // that could not be corrected, since the driver was loaded
};

// Of a CPU, by cpufreq; and of the GPU with this UUID, where there is NVML and the UUID is not empty.
[[nodiscard]] Conditions read_conditions(int cpu, const Nvml* nvml, const std::string& uuid,
                                         const std::filesystem::path& root = "/");

}  // namespace grainscope

#endif
