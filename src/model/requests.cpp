// Sums and ratios of what was counted.

#include <algorithm>
#include <numeric>

#include "grainscope/model/replay.hpp"

namespace grainscope::model {

std::uint64_t Requests::count() const {
  return std::accumulate(by_sectors.begin(), by_sectors.end(), std::uint64_t{0});
}

std::uint64_t Requests::bytes() const {
  std::uint64_t sectors = 0;
  for (std::size_t i = 0; i < by_sectors.size(); ++i) {
    sectors += (i + 1) * by_sectors[i];
  }
  return sectors * kSectorBytes;
}

double Requests::lane_use() const {
  return loads == 0 ? 0 : static_cast<double>(lanes) / (graph::kWarpLanes * static_cast<double>(loads));
}

Requests& Requests::operator+=(const Requests& other) {
  for (std::size_t i = 0; i < by_sectors.size(); ++i) {
    by_sectors[i] += other.by_sectors[i];
  }
  split += other.split;
  loads += other.loads;
  lanes += other.lanes;
  elements += other.elements;
  return *this;
}

namespace {

double over_asked(const Replay& replay, std::uint64_t bytes) {
  const std::uint64_t asked = replay.total.elements * replay.element_bytes;
  return asked == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(asked);
}

}  // namespace

double Replay::amplification() const {
  return over_asked(*this, total.bytes());
}

std::uint64_t Replay::least_bytes(std::uint64_t cache_bytes) const {
  std::uint64_t sum = 0;
  for (std::size_t level = 0; level < level_bytes.size(); ++level) {
    const std::uint64_t kept = level == 0 ? 0 : std::min(cache_bytes, level_bytes[level]);
    sum += level_bytes[level] - kept;
  }
  return std::max(sum, cached_bytes);
}

std::uint64_t Replay::cached_requests() const {
  return std::accumulate(level_requests.begin(), level_requests.end(), std::uint64_t{0});
}

double Replay::cached_amplification() const {
  return over_asked(*this, cached_bytes);
}

}  // namespace grainscope::model
