#ifndef GRAINSCOPE_SYSTEM_NVML_HPP
#define GRAINSCOPE_SYSTEM_NVML_HPP

// What the NVIDIA management library says of the GPUs. The library is loaded at run time, never linked.
// A value that the driver does not support, does not permit or does not know is absent, never 0.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace grainscope {

struct NvmlLinkState {
  int generation = 0;
  int width = 0;
};

struct NvmlProcess {
  std::uint64_t pid = 0;
  std::string name;  // the process's short name; empty when it cannot be seen from here
  std::optional<std::uint64_t> used_bytes;  // GPU memory
  std::string kind;                         // `compute`, `graphics` or `mps`
};

struct NvmlNvlink {
  int link = 0;
  bool active = false;
  std::string version;                      // `4.0`; empty when not told
  std::optional<std::uint64_t> speed_mb_s;  // one direction, decimal megabytes a second
  std::string remote_type;                  // `gpu`, `switch`, `cpu`; empty when not told
  std::string remote_pci_bus_id;            // empty when not told
};

struct NvmlDevice {
  std::optional<std::string> name;
  std::optional<std::string> uuid;                 // `GPU-…`
  std::optional<std::string> vbios_version;        // the board's firmware
  std::optional<std::string> pci_bus_id;           // `0000:3b:00.0`
  std::optional<int> link_generation, link_width;  // now; links train down at idle
  // What GPU and slot can do together, and what the GPU alone could do.
  std::optional<int> link_generation_max, link_width_max, gpu_link_generation_max;
  std::optional<std::uint64_t> pcie_replays;
  std::optional<int> sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
  std::optional<std::vector<std::string>> clock_event_reasons;  // names of clock_event_reason_names()
  std::optional<bool> ecc, persistence, mig;
  std::optional<std::string>
      compute_mode;  // `default`, `exclusive_process`, `exclusive_thread`, `prohibited`
  std::optional<std::string> addressing_mode;  // `none`, `hmm`, `ats`
  std::optional<std::uint64_t> bar1_bytes, memory_bytes, memory_used_bytes;
  std::optional<int> power_limit_mw, temperature_c;
  std::optional<bool> energy_counter;                 // total energy can be read
  std::optional<std::vector<NvmlProcess>> processes;  // others than this one
  std::optional<std::vector<NvmlNvlink>> nvlinks;     // empty: it has none
  std::optional<std::vector<int>> local_cpus;         // CPUs near it
  std::optional<int> c2c_links;                       // chip-to-chip links to the host (Grace Hopper)
};

struct Conditions;  // conditions.hpp

struct NvmlReport {
  std::string why_none;  // one sentence with the remedy; empty when NVML answered
  std::string driver_version;
  std::optional<bool> confidential_computing;
  std::vector<NvmlDevice> devices;
};

// The library, loaded and initialised. Not for several threads at once.
class Nvml {
 public:
  // nullptr when there is no library, it lacks a vital function or it does not start; `why_not` then gets
  // one sentence with the remedy. `library` is a name for the loader or a path.
  [[nodiscard]] static std::unique_ptr<Nvml> open(std::string& why_not,
                                                  const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] NvmlReport report() const;

  // Of the GPU with this UUID (`GPU-…`); absent when there is none or the driver does not tell.
  [[nodiscard]] std::optional<std::uint64_t> energy_mj(const std::string& uuid) const;  // since driver load
  [[nodiscard]] std::optional<NvmlLinkState> link_now(const std::string& uuid) const;
  [[nodiscard]] std::optional<std::vector<std::string>> clock_event_reasons(const std::string& uuid) const;
  [[nodiscard]] std::optional<std::uint64_t> pcie_replays(const std::string& uuid) const;
  // What of it may change between two visits.
  void add_conditions(const std::string& uuid, Conditions& found) const;

 private:
  struct State;
  explicit Nvml(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The names of the bits set in NVML's mask of clock event reasons, e.g. `gpu_idle`, `sw_power_cap`,
// `hw_thermal_slowdown`; a bit without a name is `bit_12`.
[[nodiscard]] std::vector<std::string> clock_event_reason_names(std::uint64_t mask);

}  // namespace grainscope

#endif
