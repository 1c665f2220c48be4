#ifndef GRAINSCOPE_SRC_CUDA_WARP_CUH
#define GRAINSCOPE_SRC_CUDA_WARP_CUH

// What the lanes of a warp tell each other. All of them call together.

#include <cstdint>

namespace grainscope::cuda {

inline constexpr int kLanesOfWarp = 32;

__device__ inline int lane_of_warp() {
  return static_cast<int>(threadIdx.x % kLanesOfWarp);
}

// Every lane's value put together by `join(one, other)`, told to all.
template <class T, class Join>
__device__ T all_of_warp(T value, const Join& join) {
  for (int lanes = kLanesOfWarp / 2; lanes > 0; lanes /= 2) {
    value = join(value, __shfl_xor_sync(~0U, value, lanes));
  }
  return value;
}
template <class T>
__device__ T sum_of_warp(T value) {
  return all_of_warp(value, [](T one, T other) { return one + other; });
}

// Over the lanes up to this one, itself included, of a group of `kLanes` neighbouring ones.
template <int kLanes = kLanesOfWarp>
__device__ std::uint32_t sum_up_to_lane(std::uint32_t value, int lane) {
  for (int lanes = 1; lanes < kLanes; lanes *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0U, value, lanes, kLanes);
    value += lane % kLanes >= lanes ? other : 0;
  }
  return value;
}

// How many of the lanes below this one are set in a mask.
__device__ inline int lanes_before(unsigned mask, int lane) {
  return __popc(mask & ((1U << lane) - 1));
}

}  // namespace grainscope::cuda

#endif
