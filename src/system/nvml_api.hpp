#ifndef GRAINSCOPE_SRC_SYSTEM_NVML_API_HPP
#define GRAINSCOPE_SRC_SYSTEM_NVML_API_HPP

// The few entry points of the NVIDIA management library that are used, declared here because not every
// machine has its header. Layouts follow NVIDIA's NVML API Reference Guide; a versioned structure carries
// its size and version in its first member. A function that the installed library lacks is nullptr.

#include <cstdint>
#include <optional>
#include <string>

namespace grainscope::nvml {

using Device = struct OpaqueDevice*;

enum Status : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kVersionMismatch = 18,
};

template <class... Parameters>
using Call = int (*)(Parameters...);

struct Memory {
  unsigned long long total, free, used;
};

struct Bar1Memory {
  unsigned long long total, free, used;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct ProcessInfo {  // of the functions that end in _v2 and _v3
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);
inline constexpr unsigned long long kValueNotAvailable = ~0ULL;

union Value {
  double as_double;
  unsigned as_unsigned;
  unsigned long as_unsigned_long;
  unsigned long long as_unsigned_long_long;
  long long as_long_long;
  int as_int;
  unsigned short as_unsigned_short;
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  int type;  // which member of the value: 0 double, 1 unsigned, 2 long, 3 long long, 4 signed long long, 5
             // int
  int status;
  Value value;
};
static_assert(sizeof(FieldValue) == 40);
inline constexpr unsigned kFieldC2cLinkCount = 170;
inline constexpr unsigned kFieldNvlinkSpeed = 164;  // scope: the link; MB/s

struct AddressingMode {
  unsigned version, value;
};
inline constexpr unsigned kAddressingModeVersion = 1u << 24 | sizeof(AddressingMode);

struct ConfidentialState {
  unsigned environment, feature, developer_tools;
};

struct ConfidentialSettings {
  unsigned version, environment, feature, developer_tools, several_gpus;
};
inline constexpr unsigned kConfidentialSettingsVersion = 1u << 24 | sizeof(ConfidentialSettings);

inline constexpr unsigned kMostNvlinks = 36;

struct Api {
  Call<> init, shutdown;
  const char* (*error_string)(int);
  Call<char*, unsigned> driver_version;
  Call<ConfidentialState*> confidential_state;
  Call<ConfidentialSettings*> confidential_settings;
  Call<unsigned*> device_count;
  Call<unsigned, Device*> device_by_index;
  Call<Device, char*, unsigned> name, uuid, vbios_version;
  Call<Device, PciInfo*> pci_info;
  Call<Device, unsigned*> link_generation, link_width, link_generation_max, link_width_max,
      gpu_link_generation_max;
  Call<Device, unsigned*> pcie_replays, persistence, compute_mode, power_limit, enforced_power_limit;
  Call<Device, int, unsigned*> clock, clock_max, temperature;
  Call<Device, unsigned long long*> clock_event_reasons, energy;
  Call<Device, unsigned*, unsigned*> ecc, mig;
  Call<Device, int, int, unsigned long long*> ecc_errors;  // which, since when
  Call<Device, AddressingMode*> addressing_mode;
  Call<Device, Memory*> memory;
  Call<Device, Bar1Memory*> bar1_memory;
  Call<Device, unsigned*, ProcessInfo*> compute_processes, graphics_processes, mps_processes;
  Call<Device, unsigned, unsigned*> nvlink_state, nvlink_version;
  Call<Device, unsigned, int*> nvlink_remote_type;
  Call<Device, unsigned, PciInfo*> nvlink_remote_pci;
  Call<Device, int, FieldValue*> field_values;
  Call<Device, unsigned, unsigned long*> cpu_affinity;
};

// Fills `api` from a library loaded with dlopen; the name of the first vital function that it lacks, or
// nothing.
[[nodiscard]] std::optional<std::string> load(void* library, Api& api);

// What a call gives, or nothing when the function is missing or does not succeed.
template <class Result, class Function, class... Arguments>
std::optional<Result> ask(Function function, Arguments... arguments) {
  Result result{};
  if (function == nullptr || function(arguments..., &result) != kSuccess) {
    return std::nullopt;
  }
  return result;
}

}  // namespace grainscope::nvml

#endif
