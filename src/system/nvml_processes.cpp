// Who else uses one GPU.

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "grainscope/system/sysfs.hpp"
#include "nvml_state.hpp"
#include "nvml_values.hpp"

namespace grainscope::nvml {

namespace {

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
