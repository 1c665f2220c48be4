#ifndef GRAINSCOPE_SRC_REACH_ROW_LISTS_HPP
#define GRAINSCOPE_SRC_REACH_ROW_LISTS_HPP

// The lists of rows that a gather reads, in the memory of the GPU that reads them.

#include <cstdint>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/reach/row_list.hpp"

namespace grainscope::reach {

struct RowList {
  cuda::DeviceBuffer rows;   // u64[request.rows]
  std::uint64_t unique = 0;  // different ones among them
  std::uint64_t sum = 0;  // mod 2⁶⁴, of the pattern's words in them, computed without reading the memory
};

// Draws kLists lists on the current GPU, `gpu`, and waits. Throws SkipError where it has no room for them.
[[nodiscard]] std::vector<RowList> draw_row_lists(const GatherRequest& request, std::uint32_t pattern_seed,
                                                  int gpu, const cuda::Stream& stream);

}  // namespace grainscope::reach

#endif
