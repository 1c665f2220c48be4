#ifndef GRAINSCOPE_BENCHMARKS_TRAFFIC_HPP
#define GRAINSCOPE_BENCHMARKS_TRAFFIC_HPP

#include <cstdint>

#include "grainscope/core/operation.hpp"
#include "grainscope/model/replay.hpp"

namespace grainscope::harness {

// A model's requests, made for `asked` bytes, as a row tells them.
[[nodiscard]] inline Traffic traffic_of(const model::Requests& requests, std::uint64_t asked) {
  Traffic traffic;
  traffic.requests = requests.count();
  for (std::size_t i = 0; i < requests.by_sectors.size(); ++i) {
    traffic.requests_by_size[static_cast<int>((i + 1) * model::kSectorBytes)] = requests.by_sectors[i];
  }
  traffic.bytes = requests.bytes();
  traffic.amplification = asked == 0 ? 0 : static_cast<double>(requests.bytes()) / static_cast<double>(asked);
  return traffic;
}

}  // namespace grainscope::harness

#endif
