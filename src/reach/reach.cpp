// What reaching far needs no GPU for: which rows a gather asks for, and how large a span a machine has
// room for.

#include <algorithm>
#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/reach/row_gather.hpp"
#include "grainscope/reach/span_memory.hpp"

namespace grainscope::reach {

void require_possible(const GatherRequest& request) {
  const std::uint64_t row = request.row_bytes;
  if (!std::has_single_bit(row) || row < kSmallestRow || row > kLargestRow || request.rows == 0 ||
      request.span_bytes == 0 || request.span_bytes % row != 0) {
    throw UsageError("a gather reads at least one row of 32 to 4096 bytes, a power of two, from a span of " +
                     std::string("whole rows; not ") + std::to_string(request.rows) + " rows of " +
                     std::to_string(row) + " bytes from " + std::to_string(request.span_bytes));
  }
}

std::vector<std::uint64_t> row_list(const GatherRequest& request, int list) {
  std::vector<std::uint64_t> rows(request.rows);
  for (std::uint64_t i = 0; i < request.rows; ++i) {
    rows[i] = random_row(i, request.rows_in_span(), list_seed(request, list));
  }
  if (request.sorted) {
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

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
