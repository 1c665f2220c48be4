// NVML's numbers as this suite's values.

#include "grainscope/system/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "grainscope/system/conditions.hpp"
#include "grainscope/system/sysfs.hpp"
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

namespace grainscope {

struct Nvml::State {
  void* library = nullptr;
  nvml::Api api{};
  bool initialised = false;
  std::map<std::string, nvml::Device> device_of_uuid;

  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] nvml::Device find(const std::string& uuid) const;
};

namespace nvml {

// Everything that one device tells.
[[nodiscard]] NvmlDevice read_device(const Api& api, Device device);

// Its parts: links and the CPUs near it; the processes on it other than this one.
void read_links(const Api& api, Device device, NvmlDevice& found);
[[nodiscard]] std::optional<std::vector<NvmlProcess>> processes_of(const Api& api, Device device);

[[nodiscard]] std::optional<std::string> device_uuid(const Api& api, Device device);
[[nodiscard]] std::optional<NvmlLinkState> link_now(const Api& api, Device device);
[[nodiscard]] std::optional<std::vector<std::string>> event_reasons(const Api& api, Device device);

}  // namespace nvml

namespace {

// Loading the NVIDIA management library, or saying why there is none.

std::string start_failure(const nvml::Api& api, int status) {
  const char* text = api.error_string != nullptr ? api.error_string(status) : nullptr;
  std::string sentence = "the NVIDIA management library does not start (nvmlInit_v2 gave " +
                         std::to_string(status) +
                         (text != nullptr ? std::string(": ") + text : std::string()) + ")";
  switch (status) {
    case nvml::kDriverNotLoaded:
      return sentence + ": the NVIDIA driver is not loaded; `sudo modprobe nvidia` loads an installed one";
    case nvml::kVersionMismatch:
      return sentence + ": driver and library have different versions; reboot after the driver's update";
    case nvml::kNoPermission:
      return sentence + ": no access to /dev/nvidia*; in a container, start it with `--gpus all`";
    default:
      return sentence + "; `nvidia-smi` tells more";
  }
}

}  // namespace

Nvml::State::~State() {
  if (initialised) {
    api.shutdown();
  }
  if (library != nullptr) {
    dlclose(library);
  }
}

nvml::Device Nvml::State::find(const std::string& uuid) const {
  const auto found = device_of_uuid.find(uuid);
  return found == device_of_uuid.end() ? nullptr : found->second;
}

Nvml::Nvml(std::unique_ptr<State> state) : state_(std::move(state)) {}
Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::open(std::string& why_not, const std::string& library) {
  auto state = std::make_unique<State>();
  state->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (state->library == nullptr) {
    why_not = "there is no " + library +
              ", which comes with the NVIDIA driver; install the driver, or in a " +
              "container start it with `--gpus all`";
    return nullptr;
  }
  if (const auto missing = nvml::load(state->library, state->api)) {
    why_not =
        library + " lacks " + *missing + ": it is a stub or too old; put the driver's own library first";
    return nullptr;
  }
  if (const int status = state->api.init(); status != nvml::kSuccess) {
    why_not = start_failure(state->api, status);
    return nullptr;
  }
  state->initialised = true;
  const unsigned count = nvml::ask<unsigned>(state->api.device_count).value_or(0);
  for (unsigned index = 0; index < count; ++index) {
    const auto device = nvml::ask<nvml::Device>(state->api.device_by_index, index);
    const auto uuid = device ? nvml::device_uuid(state->api, *device) : std::nullopt;
    if (uuid) {
      state->device_of_uuid[*uuid] = *device;
    }
  }
  why_not.clear();
  return std::unique_ptr<Nvml>(new Nvml(std::move(state)));
}

NvmlReport Nvml::report() const {
  const nvml::Api& api = state_->api;
  NvmlReport report;
  char version[96] = {};
  if (api.driver_version != nullptr && api.driver_version(version, sizeof version - 1) == nvml::kSuccess) {
    report.driver_version = version;
  }
  if (const auto state = nvml::ask<nvml::ConfidentialState>(api.confidential_state)) {
    report.confidential_computing = state->feature != 0;
  }
  nvml::ConfidentialSettings settings{};
  settings.version = nvml::kConfidentialSettingsVersion;
  if (api.confidential_settings != nullptr && api.confidential_settings(&settings) == nvml::kSuccess) {
    // Protected PCIe shuts host mappings out as well.
    report.confidential_computing =
        report.confidential_computing.value_or(false) || settings.feature != 0 || settings.several_gpus != 0;
  }
  const auto count = nvml::ask<unsigned>(api.device_count);
  for (unsigned index = 0; index < count.value_or(0); ++index) {
    const auto device = nvml::ask<nvml::Device>(api.device_by_index, index);
    // A GPU that fell off the bus still counts: everything about it is unknown.
    report.devices.push_back(device ? nvml::read_device(api, *device) : NvmlDevice{});
  }
  if (report.devices.empty()) {
    report.why_none = count ? "NVML answers and knows no GPU; in a container, start it with `--gpus all`"
                            : "NVML answers and cannot count the GPUs; `nvidia-smi` tells more";
  }
  return report;
}

std::optional<std::uint64_t> Nvml::energy_mj(const std::string& uuid) const {
  const nvml::Device device = state_->find(uuid);
  return device == nullptr ? std::nullopt : nvml::ask<unsigned long long>(state_->api.energy, device);
}

std::optional<NvmlLinkState> Nvml::link_now(const std::string& uuid) const {
  const nvml::Device device = state_->find(uuid);
  return device == nullptr ? std::nullopt : nvml::link_now(state_->api, device);
}

std::optional<std::vector<std::string>> Nvml::clock_event_reasons(const std::string& uuid) const {
  const nvml::Device device = state_->find(uuid);
  return device == nullptr ? std::nullopt : nvml::event_reasons(state_->api, device);
}

std::optional<std::uint64_t> Nvml::pcie_replays(const std::string& uuid) const {
  const nvml::Device device = state_->find(uuid);
  return device == nullptr ? std::nullopt : nvml::ask<unsigned>(state_->api.pcie_replays, device);
}

void Nvml::add_conditions(const std::string& uuid, Conditions& found) const {
  constexpr int kSm = 1, kMemory = 2, kUncorrected = 1, kVolatile = 0;
  const nvml::Api& api = state_->api;
  const nvml::Device device = state_->find(uuid);
  if (device == nullptr) {
    return;
  }
  const auto mhz = [&](int clock) {
    const auto now = nvml::ask<unsigned>(api.clock, device, clock);
    return now ? std::optional(static_cast<int>(*now)) : std::nullopt;
  };
  found.gpu_sm_mhz = mhz(kSm);
  found.gpu_memory_mhz = mhz(kMemory);
  found.throttle = nvml::event_reasons(api, device);
  found.link = nvml::link_now(api, device);
  found.ecc_errors = nvml::ask<unsigned long long>(api.ecc_errors, device, kUncorrected, kVolatile);
}

namespace {

// What one GPU tells through the NVIDIA management library.

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
  found.vbios_version = text_of(api.vbios_version, device);
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

namespace grainscope::nvml {

namespace {

// The links of one GPU: PCI Express, NVLink, chip to chip, and the CPUs near it.

constexpr std::array<const char*, 9> kNvlinkVersions = {"",    "1.0", "2.0", "2.2", "3.0",
                                                        "3.1", "4.0", "5.0", "6.0"};
constexpr std::array<const char*, 3> kNvlinkRemotes = {"gpu", "cpu", "switch"};

std::optional<std::uint64_t> number_of(const FieldValue& field) {
  switch (field.type) {
    case 1:
      return field.value.as_unsigned;
    case 2:
      return field.value.as_unsigned_long;
    case 3:
      return field.value.as_unsigned_long_long;
    case 4:
      return field.value.as_long_long < 0 ? std::nullopt
                                          : std::optional<std::uint64_t>(field.value.as_long_long);
    case 5:
      return field.value.as_int < 0 ? std::nullopt : std::optional<std::uint64_t>(field.value.as_int);
    case 6:
      return field.value.as_unsigned_short;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> field_of(const Api& api, Device device, unsigned field, unsigned scope) {
  FieldValue value{};
  value.field = field;
  value.scope = scope;
  if (api.field_values == nullptr || api.field_values(device, 1, &value) != kSuccess ||
      value.status != kSuccess) {
    return std::nullopt;
  }
  return number_of(value);
}

NvmlNvlink read_nvlink(const Api& api, Device device, unsigned link, bool active) {
  NvmlNvlink found;
  found.link = static_cast<int>(link);
  found.active = active;
  if (!active) {
    return found;
  }
  found.version = word(ask<unsigned>(api.nvlink_version, device, link), kNvlinkVersions).value_or("");
  found.speed_mb_s = field_of(api, device, kFieldNvlinkSpeed, link);
  const auto remote = ask<int>(api.nvlink_remote_type, device, link);
  if (remote && *remote >= 0) {
    found.remote_type = word(static_cast<unsigned>(*remote), kNvlinkRemotes).value_or("");
  }
  if (const auto pci = ask<PciInfo>(api.nvlink_remote_pci, device, link)) {
    found.remote_pci_bus_id = bus_id_of(*pci);
  }
  return found;
}

// A GPU without NVLink refuses every link as not supported or as no valid link; any other refusal means that
// nothing is known.
std::optional<std::vector<NvmlNvlink>> nvlinks_of(const Api& api, Device device) {
  if (api.nvlink_state == nullptr) {
    return std::nullopt;
  }
  std::vector<NvmlNvlink> links;
  for (unsigned link = 0; link < kMostNvlinks; ++link) {
    unsigned active = 0;
    const int status = api.nvlink_state(device, link, &active);
    if (status == kSuccess) {
      links.push_back(read_nvlink(api, device, link, active != 0));
    } else if (status != kNotSupported && status != kInvalidArgument) {
      return std::nullopt;
    }
  }
  return links;
}

std::optional<std::vector<int>> local_cpus_of(const Api& api, Device device) {
  constexpr unsigned kWords = 64;
  constexpr unsigned kBits = sizeof(unsigned long) * 8;
  std::array<unsigned long, kWords> words{};
  if (api.cpu_affinity == nullptr || api.cpu_affinity(device, kWords, words.data()) != kSuccess) {
    return std::nullopt;
  }
  std::vector<int> cpus;
  for (unsigned bit = 0; bit < kWords * kBits; ++bit) {
    if ((words[bit / kBits] >> (bit % kBits) & 1) != 0) {
      cpus.push_back(static_cast<int>(bit));
    }
  }
  return cpus;
}

}  // namespace

void read_links(const Api& api, Device device, NvmlDevice& found) {
  found.link_generation = as_int(ask<unsigned>(api.link_generation, device));
  found.link_width = as_int(ask<unsigned>(api.link_width, device));
  found.link_generation_max = as_int(ask<unsigned>(api.link_generation_max, device));
  found.link_width_max = as_int(ask<unsigned>(api.link_width_max, device));
  found.gpu_link_generation_max = as_int(ask<unsigned>(api.gpu_link_generation_max, device));
  found.pcie_replays = ask<unsigned>(api.pcie_replays, device);
  found.nvlinks = nvlinks_of(api, device);
  if (const auto c2c = field_of(api, device, kFieldC2cLinkCount, 0); c2c && *c2c < 1024) {
    found.c2c_links = static_cast<int>(*c2c);
  }
  found.local_cpus = local_cpus_of(api, device);
}

namespace {

// Who else uses one GPU.

// Names are looked up only where NVML's process ids mean the same as ours: not inside a PID namespace.
std::string process_name(unsigned pid) {
  constexpr std::string_view kInitialNamespace = "pid:[4026531836]";
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (error || own.string() != kInitialNamespace) {
    return "";
  }
  std::string name = sysfs::read_text("/proc/" + std::to_string(pid) + "/comm").value_or("");
  // A process names itself, with any bytes: none of them may steer the reader's terminal.
  std::replace_if(
      name.begin(), name.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; }, '?');
  return name;
}

// False when the driver does not tell.
bool add_processes(Call<Device, unsigned*, ProcessInfo*> function, Device device, const char* kind,
                   std::vector<NvmlProcess>& processes) {
  std::vector<ProcessInfo> infos(64);
  auto count = static_cast<unsigned>(infos.size());
  int status = function == nullptr ? static_cast<int>(kNotSupported) : function(device, &count, infos.data());
  for (int attempt = 0; status == kInsufficientSize && attempt < 4; ++attempt) {
    infos.resize(std::max<std::size_t>(count, infos.size()) * 2);  // more may start meanwhile
    count = static_cast<unsigned>(infos.size());
    status = function(device, &count, infos.data());
  }
  if (status != kSuccess) {
    return false;
  }
  infos.resize(std::min<std::size_t>(count, infos.size()));
  for (const ProcessInfo& info : infos) {
    const bool known = std::any_of(processes.begin(), processes.end(),
                                   [&](const NvmlProcess& process) { return process.pid == info.pid; });
    if (known || info.pid == static_cast<unsigned>(getpid())) {
      continue;
    }
    NvmlProcess process{info.pid, process_name(info.pid), std::nullopt, kind};
    if (info.used_bytes != kValueNotAvailable) {
      process.used_bytes = info.used_bytes;
    }
    processes.push_back(process);
  }
  return true;
}

}  // namespace

std::optional<std::vector<NvmlProcess>> processes_of(const Api& api, Device device) {
  std::vector<NvmlProcess> processes;
  const bool mps = add_processes(api.mps_processes, device, "mps", processes);
  const bool compute = add_processes(api.compute_processes, device, "compute", processes);
  const bool graphics = add_processes(api.graphics_processes, device, "graphics", processes);
  return mps || compute || graphics ? std::optional(processes) : std::nullopt;
}

}  // namespace grainscope::nvml
