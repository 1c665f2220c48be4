#ifndef GRAINSCOPE_SRC_CUDA_FULL_GRID_HPP
#define GRAINSCOPE_SRC_CUDA_FULL_GRID_HPP

// Grids that a GPU holds whole. Warps that share work in turns are slower in more blocks than that: those of
// a second wave begin when the first have ended, and are too few to keep a link busy.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

// As many blocks as the GPU, which is current, holds at once.
inline unsigned full_grid(const void* kernel, int threads, int gpu) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0),
        "ask how many blocks a multiprocessor holds");
  return static_cast<unsigned>(std::max(1, blocks * sm_count(gpu)));
}

// Launches a kernel with that many blocks, on the GPU which is current.
template <class... Arguments>
void launch_full(void (*kernel)(Arguments...), int threads, int gpu, const Stream& stream,
                 std::type_identity_t<Arguments>... arguments) {
  void* addresses[] = {&arguments...};
  const void* const function = reinterpret_cast<const void*>(kernel);
  check(cudaLaunchKernel(function, dim3(full_grid(function, threads, gpu)),
                         dim3(static_cast<unsigned>(threads)), addresses, 0, stream.get()),
        "launch a kernel with as many blocks as the GPU holds");
}

}  // namespace grainscope::cuda

#endif
