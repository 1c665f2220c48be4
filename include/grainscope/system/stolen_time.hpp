#ifndef GRAINSCOPE_SYSTEM_STOLEN_TIME_HPP
#define GRAINSCOPE_SYSTEM_STOLEN_TIME_HPP

// What a hypervisor takes from a virtual machine: time in which a CPU had work and did not run.

#include <filesystem>
#include <optional>
#include <vector>

namespace grainscope {

// Seconds since the machine began, over all of `cpus`; of which the kernel counts whole ticks (1/100 s) of
// each CPU. 0 on bare metal; nullopt where /proc/stat below `root` cannot be read or lacks one of the CPUs.
// Source: proc_stat(5).
[[nodiscard]] std::optional<double> stolen_s(const std::vector<int>& cpus,
                                             const std::filesystem::path& root = "/");

}  // namespace grainscope

#endif
