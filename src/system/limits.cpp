// What control groups and resource limits leave to this process.

#include "grainscope/system/limits.hpp"

#include <algorithm>
#include <vector>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

namespace fs = std::filesystem;

// The group's directory and those above it up to the mount. In a container the path may be the host's, of
// which only the mount itself is visible: that is then the container's own group.
std::vector<fs::path> group_and_above(const fs::path& mount, const std::string& group) {
  std::vector<fs::path> directories;
  std::error_code error;
  for (fs::path below = fs::path(group).relative_path(); !below.empty(); below = below.parent_path()) {
    if (fs::is_directory(mount / below, error)) {
      directories.push_back(mount / below);
    }
  }
  directories.push_back(mount);
  return directories;
}

struct Groups {
  std::string unified;                  // of version 2
  std::string memory = "/", cpu = "/";  // of version 1
};

// Lines such as `4:memory:/path`, `3:cpu,cpuacct:/path`, `0::/path`.
Groups groups_of_this_process(const Roots& roots) {
  Groups groups{"/"};
  for (const std::string& line :
       sysfs::split_lines(sysfs::read_text(roots.filesystem / "proc/self/cgroup").value_or(""))) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    std::string controllers = ",";
    controllers.append(line, first + 1, second - first - 1).append(",");
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      groups.unified = path;
    }
    if (controllers.find(",memory,") != std::string::npos) {
      groups.memory = path;
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      groups.cpu = path;
    }
  }
  return groups;
}

std::uint64_t left(std::uint64_t limit, std::uint64_t usage, std::uint64_t reclaimable) {
  const std::uint64_t held = usage - std::min(usage, reclaimable);
  return limit - std::min(limit, held);
}

// `key value` lines, such as memory.stat.
std::uint64_t statistic(const fs::path& path, const std::string& key) {
  for (const std::string& line : sysfs::split_lines(sysfs::read_text(path).value_or(""))) {
    const auto words = sysfs::split_words(line);
    if (words.size() == 2 && words[0] == key) {
      return sysfs::parse_unsigned(words[1]).value_or(0);
    }
  }
  return 0;
}

struct MemoryFiles {
  const char *limit, *usage, *reclaimable;
};
constexpr MemoryFiles kMemory1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr MemoryFiles kMemory2{"memory.max", "memory.current", "inactive_file"};

void tighten_memory(CgroupLimits& limits, const fs::path& group, const MemoryFiles& files) {
  // Version 2 says `max`, version 1 a number near 2^63, for no limit; `max` is no number, hence absent.
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  const auto limit = sysfs::read_unsigned(group / files.limit);
  if (!limit || *limit >= kNoLimit) {
    return;
  }
  const std::uint64_t usage = sysfs::read_unsigned(group / files.usage).value_or(0);
  const std::uint64_t reclaimable = statistic(group / "memory.stat", files.reclaimable);
  const bool tighter =
      !limits.memory_limit_bytes ||
      left(*limit, usage, reclaimable) <
          left(*limits.memory_limit_bytes, *limits.memory_usage_bytes, *limits.memory_reclaimable_bytes);
  if (tighter) {
    limits.memory_limit_bytes = limit;
    limits.memory_usage_bytes = usage;
    limits.memory_reclaimable_bytes = reclaimable;
  }
}

void tighten_cpu(CgroupLimits& limits, std::optional<std::int64_t> quota,
                 std::optional<std::int64_t> period) {
  if (quota && period && *quota > 0 && *period > 0) {
    const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    limits.cpu_quota = std::min(limits.cpu_quota.value_or(cpus), cpus);
  }
}

// `max 100000` or `150000 100000`
void tighten_cpu_max(CgroupLimits& limits, const fs::path& group) {
  const auto words = sysfs::split_words(sysfs::read_text(group / "cpu.max").value_or(""));
  if (words.size() == 2) {
    tighten_cpu(limits, sysfs::parse_integer(words[0]), sysfs::parse_integer(words[1]));
  }
}

}  // namespace

CgroupLimits cgroup_limits(const Roots& roots) {
  const fs::path mount = roots.filesystem / "sys/fs/cgroup";
  const Groups groups = groups_of_this_process(roots);
  CgroupLimits limits;
  std::error_code error;
  if (fs::exists(mount / "cgroup.controllers", error)) {
    limits.version = 2;
    for (const fs::path& group : group_and_above(mount, groups.unified)) {
      tighten_memory(limits, group, kMemory2);
      tighten_cpu_max(limits, group);
    }
  } else if (fs::exists(mount / "memory", error) || fs::exists(mount / "cpu", error)) {
    limits.version = 1;
    for (const fs::path& group : group_and_above(mount / "memory", groups.memory)) {
      tighten_memory(limits, group, kMemory1);
    }
    for (const fs::path& group : group_and_above(mount / "cpu", groups.cpu)) {
      tighten_cpu(limits, sysfs::read_integer(group / "cpu.cfs_quota_us"),
                  sysfs::read_integer(group / "cpu.cfs_period_us"));
    }
  }
  return limits;
}

std::optional<std::uint64_t> AvailableMemory::bytes() const noexcept {
  if (meminfo_bytes && cgroup_bytes) {
    return std::min(*meminfo_bytes, *cgroup_bytes);
  }
  return meminfo_bytes ? meminfo_bytes : cgroup_bytes;
}

AvailableMemory available_memory(const Roots& roots) {
  AvailableMemory available;
  available.meminfo_bytes = meminfo_bytes(roots, "MemAvailable");
  const CgroupLimits limits = cgroup_limits(roots);
  if (limits.memory_limit_bytes) {
    available.cgroup_bytes =
        left(*limits.memory_limit_bytes, *limits.memory_usage_bytes, *limits.memory_reclaimable_bytes);
  }
  return available;
}

std::optional<std::uint64_t> memlock_limit(const Roots& roots) {
  constexpr std::string_view kKey = "Max locked memory";
  for (const std::string& line :
       sysfs::split_lines(sysfs::read_text(roots.filesystem / "proc/self/limits").value_or(""))) {
    if (line.rfind(kKey, 0) == 0) {
      const auto words = sysfs::split_words(std::string_view(line).substr(kKey.size()));
      if (words.empty()) {
        return std::nullopt;
      }
      return words[0] == "unlimited" ? kUnlimited : sysfs::parse_unsigned(words[0]);
    }
  }
  return std::nullopt;
}

}  // namespace grainscope
