#ifndef GRAINSCOPE_SYSTEM_LIMITS_HPP
#define GRAINSCOPE_SYSTEM_LIMITS_HPP

// What this process may take: memory, locked memory and CPU time.

#include <cstdint>
#include <optional>
#include <string>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

// Limits of the control groups this process is in, the tightest on the way to the root.
struct CgroupLimits {
  std::optional<int> version;                             // 1 or 2; absent: no control groups visible
  std::optional<std::uint64_t> memory_limit_bytes;        // absent: no limit, or not told
  std::optional<std::uint64_t> memory_usage_bytes;        // of the group that sets the limit
  std::optional<std::uint64_t> memory_reclaimable_bytes;  // page cache in that usage
  std::optional<double> cpu_quota;  // CPUs' worth of time; absent: no quota, or not told
};
[[nodiscard]] CgroupLimits cgroup_limits(const Roots& roots = {});

// How much memory can be taken now, by each of those who may say no. On some virtual machines MemTotal
// grows as memory is touched, so `meminfo` may understate: both parts are told.
struct AvailableMemory {
  std::optional<std::uint64_t> meminfo_bytes;  // MemAvailable
  std::optional<std::uint64_t> cgroup_bytes;   // limit - usage + reclaimable; absent: no limit
  // The smaller of the two that are known.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const noexcept;
};
[[nodiscard]] AvailableMemory available_memory(const Roots& roots = {});

// Bytes that this process may lock (RLIMIT_MEMLOCK, soft); kUnlimited for no limit. From /proc/self/limits.
inline constexpr std::uint64_t kUnlimited = UINT64_MAX;
[[nodiscard]] std::optional<std::uint64_t> memlock_limit(const Roots& roots = {});

}  // namespace grainscope

#endif
