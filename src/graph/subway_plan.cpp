#include "subway_plan.hpp"

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::graph {
namespace {

// Long enough for a copy at the link's full rate, short enough to stay in a processor's cache between the
// gathering and the copy.
constexpr std::uint64_t kMostPartitionBytes = 32 * kMiB;
constexpr std::uint64_t kLeastPartitionBytes = kMiB;
constexpr std::uint64_t kPartitionsALevel = 8;  // the first is gathered, and the last walked, alone

constexpr Edge round_down(Edge elements) {
  return elements / kWarpLanes * kWarpLanes;
}
constexpr Edge round_up(Edge elements) {
  return round_down(elements + kWarpLanes - 1);
}

}  // namespace

Edge partition_capacity(std::uint64_t cap_bytes, std::uint64_t element_bytes, Edge edges) {
  const Edge most = round_down(std::min(cap_bytes / 2, kMostPartitionBytes) / element_bytes);
  if (most == 0) {
    throw UsageError("a cap of " + format_bytes(cap_bytes) + " holds no two buffers of " +
                     std::to_string(kWarpLanes) + " edges of " + std::to_string(element_bytes) +
                     " bytes: ask for " + format_bytes(2 * element_bytes * kWarpLanes) + " or more");
  }
  return std::min(most, round_up(std::max<Edge>(edges, 1)));
}

Edge partition_length(Edge edges, Edge capacity, std::uint64_t element_bytes) {
  const Edge least = round_down(kLeastPartitionBytes / element_bytes);
  const Edge wanted = round_up((edges + kPartitionsALevel - 1) / kPartitionsALevel);
  return std::min(capacity, std::max(least, wanted));
}

Partition cut_partition(std::span<const Edge> positions, Edge begin, Edge end) {
  if (begin >= end) {
    return {begin, begin, 0, 0};
  }
  const auto after = std::upper_bound(positions.begin(), positions.end(), begin);
  const auto stop = std::lower_bound(after, positions.end(), end);
  const auto first = static_cast<std::uint64_t>(after - positions.begin()) - 1;
  return {begin, end, first, static_cast<std::uint64_t>(stop - positions.begin()) - first};
}

}  // namespace grainscope::graph
