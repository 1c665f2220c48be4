#ifndef GRAINSCOPE_SRC_CUDA_LAUNCH_CUH
#define GRAINSCOPE_SRC_CUDA_LAUNCH_CUH

// What kernels and their launches share. On the host: a kernel is loaded before it is timed, its grid fills
// the GPU, blocks that wait for each other start together. On the GPU: where a thread is, what the lanes of a
// warp tell each other, and a clock.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

// Loads a kernel for the current GPU, so that its first launch may be timed or stand behind a gate. `tried`
// reads after "could not".
inline void load_kernel(const void* kernel, std::string_view tried) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), tried);
}
template <class... Arguments>
void load_kernel(void (*kernel)(Arguments...), std::string_view tried) {
  load_kernel(reinterpret_cast<const void*>(kernel), tried);
}

// Blocks of so many threads, each with `shared` bytes of shared memory that its launch asks for, that a
// multiprocessor of the current GPU holds at once.
inline int blocks_on_multiprocessor(const void* kernel, int threads, std::uint64_t shared = 0) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared),
        "ask how many blocks a multiprocessor holds");
  return blocks;
}
template <class... Arguments>
int blocks_on_multiprocessor(void (*kernel)(Arguments...), int threads, std::uint64_t shared = 0) {
  return blocks_on_multiprocessor(reinterpret_cast<const void*>(kernel), threads, shared);
}

// As many blocks as the GPU, which is current, holds at once.
inline unsigned full_grid(const void* kernel, int threads, int gpu) {
  return static_cast<unsigned>(std::max(1, blocks_on_multiprocessor(kernel, threads) * sm_count(gpu)));
}

// Throws SkipError where a GPU cannot launch such blocks.
inline void require_together(int gpu) {
  int together = 0;
  check(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, gpu),
        "ask whether blocks may wait for each other");
  if (together == 0) {
    throw SkipError("GPU " + std::to_string(gpu) + " cannot launch blocks that wait for each other");
  }
}

inline void launch_together(const void* kernel, unsigned grid, int threads, void** arguments,
                            const Stream& stream) {
  check(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(static_cast<unsigned>(threads)), arguments, 0,
                                    stream.get()),
        "launch a kernel with all its blocks at once");
}

// A thread's place in a one-dimensional grid, for loops that stride over all of it.
__device__ inline std::uint64_t thread_of_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::uint64_t threads_of_grid() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

// Nanoseconds on the GPU's own clock, which ticks every 32 ns to every microsecond: for time-outs.
__device__ inline std::uint64_t global_timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Lanes of a warp, and what they tell each other: all of them call together.
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
template <int kLanes = kLanesOfWarp, class T>
__device__ T sum_up_to_lane(T value, int lane) {
  for (int lanes = 1; lanes < kLanes; lanes *= 2) {
    const T other = __shfl_up_sync(~0U, value, lanes, kLanes);
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
