#ifndef GRAINSCOPE_MODEL_COALESCE_HPP
#define GRAINSCOPE_MODEL_COALESCE_HPP

// From the bytes of a warp-wide load to requests: a request for each line of 128 bytes, of as many sectors of
// 32 bytes as the load touches in it.

#include <array>
#include <bit>
#include <cstdint>

#include "grainscope/model/replay.hpp"

namespace grainscope::model {

inline constexpr std::uint64_t kSectorsPerLine = graph::kLineBytes / kSectorBytes;

// Adds the requests of `times` loads of bytes [begin, end) without a gap, begin < end.
inline void add_span(Requests& requests, std::uint64_t begin, std::uint64_t end, std::uint64_t times = 1) {
  const std::uint64_t first = begin / kSectorBytes;
  const std::uint64_t last = (end - 1) / kSectorBytes;
  const std::uint64_t lines = last / kSectorsPerLine - first / kSectorsPerLine;
  if (lines == 0) {
    requests.by_sectors[last - first] += times;
    return;
  }
  requests.by_sectors[kSectorsPerLine - 1 - first % kSectorsPerLine] += times;
  requests.by_sectors[last % kSectorsPerLine] += times;
  requests.by_sectors[kSectorsPerLine - 1] += (lines - 1) * times;
}

// Requests by which of a line's four sectors they ask for.
using BySectorMask = std::array<std::uint64_t, 1U << kSectorsPerLine>;

inline void add_masks(Requests& requests, const BySectorMask& masks) {
  for (std::size_t mask = 1; mask < masks.size(); ++mask) {
    const auto sectors = static_cast<std::size_t>(std::popcount(mask));
    const auto span = static_cast<std::size_t>(std::bit_width(mask) - std::countr_zero(mask));
    requests.by_sectors[sectors - 1] += masks[mask];
    requests.split += span > sectors ? masks[mask] : 0;
  }
}

}  // namespace grainscope::model

#endif
