#include "grainscope/system/conditions.hpp"

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

Conditions read_conditions(int cpu, const Nvml* nvml, const std::string& uuid,
                           const std::filesystem::path& root) {
  Conditions found;
  if (nvml != nullptr && !uuid.empty()) {
    nvml->add_conditions(uuid, found);
  }
  const auto steered = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cpufreq";
  found.governor = sysfs::read_text(steered / "scaling_governor");
  if (const auto khz = sysfs::read_unsigned(steered / "scaling_cur_freq")) {
    found.cpu_mhz = static_cast<int>(*khz / 1000);
  }
  return found;
}

}  // namespace grainscope
