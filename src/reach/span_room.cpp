#include <algorithm>

#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {
namespace {

constexpr std::uint64_t kLeft = 2 * kGiB;         // of what may be taken, for everyone else
constexpr std::uint64_t kAlwaysAvailable = kGiB;  // of MemAvailable, at any time

constexpr std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from - std::min(from, what);
}

constexpr std::uint64_t with_margin(std::uint64_t bytes) {
  return less(bytes - bytes / 10, kLeft);
}

}  // namespace

const char* name(SpanKind kind) {
  switch (kind) {
    case SpanKind::host_alloc:
      return "host_alloc";
    case SpanKind::registered:
      return "registered";
    case SpanKind::transparent_huge:
      return "transparent_huge";
    case SpanKind::hugetlb:
      return "hugetlb";
    case SpanKind::vmm_host:
      return "vmm_host";
    case SpanKind::peer:
      return "peer";
  }
  return "unknown";
}

std::uint64_t room_for_more(const AvailableMemory& at_start, const AvailableMemory& now, std::uint64_t held) {
  std::uint64_t room = UINT64_MAX;
  if (at_start.cgroup_bytes) {
    room = less(with_margin(*at_start.cgroup_bytes), held);
  }
  if (now.cgroup_bytes) {
    room = std::min(room, with_margin(*now.cgroup_bytes));
  }
  if (now.meminfo_bytes) {
    const bool alone = !now.cgroup_bytes;
    room =
        std::min(room, alone ? with_margin(*now.meminfo_bytes) : less(*now.meminfo_bytes, kAlwaysAvailable));
  }
  return room;
}

std::uint64_t can_take(const AvailableMemory& available) {
  return available.cgroup_bytes || available.meminfo_bytes
             ? with_margin(available.cgroup_bytes.value_or(available.meminfo_bytes.value_or(0)))
             : UINT64_MAX;
}

}  // namespace grainscope::reach
