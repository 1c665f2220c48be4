// Loading the NVIDIA management library, or saying why there is none.

#include "grainscope/system/nvml.hpp"

#include <dlfcn.h>

#include <utility>

#include "grainscope/system/conditions.hpp"
#include "nvml_state.hpp"

namespace grainscope {

namespace {

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

NvmlReport read_nvml(const std::string& library) {
  NvmlReport none;
  const auto nvml = Nvml::open(none.why_none, library);
  return nvml == nullptr ? none : nvml->report();
}

}  // namespace grainscope
