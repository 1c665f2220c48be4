// Which symbol stands for which entry point; where a newer one replaced an older, both are tried.

#include "nvml_api.hpp"

#include <dlfcn.h>

#include <initializer_list>

namespace grainscope::nvml {

namespace {

template <class Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  function = nullptr;
  for (const char* name : names) {
    if (function == nullptr) {
      function = reinterpret_cast<Function>(dlsym(library, name));
    }
  }
}

void load_device(void* library, Api& api) {
  find(library, api.name, {"nvmlDeviceGetName"});
  find(library, api.uuid, {"nvmlDeviceGetUUID"});
  find(library, api.vbios_version, {"nvmlDeviceGetVbiosVersion"});
  find(library, api.pci_info, {"nvmlDeviceGetPciInfo_v3"});
  find(library, api.persistence, {"nvmlDeviceGetPersistenceMode"});
  find(library, api.compute_mode, {"nvmlDeviceGetComputeMode"});
  find(library, api.ecc, {"nvmlDeviceGetEccMode"});
  find(library, api.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(library, api.mig, {"nvmlDeviceGetMigMode"});
  find(library, api.addressing_mode, {"nvmlDeviceGetAddressingMode"});
  find(library, api.memory, {"nvmlDeviceGetMemoryInfo"});
  find(library, api.bar1_memory, {"nvmlDeviceGetBAR1MemoryInfo"});
  find(library, api.clock, {"nvmlDeviceGetClockInfo"});
  find(library, api.clock_max, {"nvmlDeviceGetMaxClockInfo"});
  find(library, api.clock_event_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, api.temperature, {"nvmlDeviceGetTemperature"});
  find(library, api.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
  find(library, api.enforced_power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(library, api.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, api.cpu_affinity, {"nvmlDeviceGetCpuAffinity"});
  find(library, api.field_values, {"nvmlDeviceGetFieldValues"});
  // _v3 and _v2 fill the same structure; the oldest, without a suffix, another one.
  find(library, api.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(library, api.graphics_processes,
       {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  find(library, api.mps_processes,
       {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
}

void load_links(void* library, Api& api) {
  find(library, api.link_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  find(library, api.link_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  find(library, api.link_generation_max, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(library, api.link_width_max, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(library, api.gpu_link_generation_max, {"nvmlDeviceGetGpuMaxPcieLinkGeneration"});
  find(library, api.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  find(library, api.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  find(library, api.nvlink_version, {"nvmlDeviceGetNvLinkVersion"});
  find(library, api.nvlink_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"});
  find(library, api.nvlink_remote_pci, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
}

}  // namespace

std::optional<std::string> load(void* library, Api& api) {
  find(library, api.init, {"nvmlInit_v2"});
  find(library, api.shutdown, {"nvmlShutdown"});
  find(library, api.device_count, {"nvmlDeviceGetCount_v2"});
  find(library, api.device_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
  find(library, api.error_string, {"nvmlErrorString"});
  find(library, api.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, api.confidential_state, {"nvmlSystemGetConfComputeState"});
  find(library, api.confidential_settings, {"nvmlSystemGetConfComputeSettings"});
  load_device(library, api);
  load_links(library, api);
  if (api.init == nullptr) {
    return "nvmlInit_v2";
  }
  if (api.shutdown == nullptr) {
    return "nvmlShutdown";
  }
  if (api.device_count == nullptr) {
    return "nvmlDeviceGetCount_v2";
  }
  if (api.device_by_index == nullptr) {
    return "nvmlDeviceGetHandleByIndex_v2";
  }
  return std::nullopt;
}

}  // namespace grainscope::nvml
