#ifndef GRAINSCOPE_SRC_GRAPH_WARP_SUMS_CUH
#define GRAINSCOPE_SRC_GRAPH_WARP_SUMS_CUH

// Sums over the lanes of a warp, all of which call.

#include <cstdint>

#include "grainscope/graph/access.hpp"

namespace grainscope::graph {

__device__ inline std::uint64_t sum_of_warp(std::uint64_t value) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(~0U, value, lanes);
  }
  return value;
}

__device__ inline double sum_of_warp(double value) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(~0U, value, lanes);
  }
  return value;
}

// Over the lanes up to this one, itself included.
__device__ inline std::uint32_t sum_up_to_lane(std::uint32_t value, int lane) {
  for (int lanes = 1; lanes < kWarpLanes; lanes *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0U, value, lanes);
    value += lane >= lanes ? other : 0;
  }
  return value;
}

// How many of the lanes below this one are set in a mask.
__device__ inline int lanes_before(unsigned mask, int lane) {
  return __popc(mask & ((1U << lane) - 1));
}

}  // namespace grainscope::graph

#endif
