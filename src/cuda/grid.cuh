#ifndef GRAINSCOPE_SRC_CUDA_GRID_CUH
#define GRAINSCOPE_SRC_CUDA_GRID_CUH

// A thread's place in a one-dimensional grid, for loops that stride over all of it.

#include <cstdint>

namespace grainscope::cuda {

__device__ inline std::uint64_t thread_of_grid() {
  return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::uint64_t threads_of_grid() {
  return std::uint64_t{gridDim.x} * blockDim.x;
}

}  // namespace grainscope::cuda

#endif
