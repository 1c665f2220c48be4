#ifndef GRAINSCOPE_SRC_CUDA_TOGETHER_HPP
#define GRAINSCOPE_SRC_CUDA_TOGETHER_HPP

// Kernels whose blocks wait for each other, and must therefore be on the GPU all at once.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

// Throws SkipError where a GPU cannot launch such blocks.
inline void require_together(int gpu) {
  int together = 0;
  check(cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, gpu),
        "ask whether blocks may wait for each other");
  if (together == 0) {
    throw SkipError("GPU " + std::to_string(gpu) + " cannot launch blocks that wait for each other");
  }
}

// As many blocks as the GPU, which is current, holds at once.
inline unsigned full_grid(const void* kernel, int threads, int gpu) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0),
        "ask how many blocks a multiprocessor holds");
  return static_cast<unsigned>(std::max(1, blocks * sm_count(gpu)));
}

inline void launch_together(const void* kernel, unsigned grid, int threads, void** arguments,
                            const Stream& stream) {
  check(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(static_cast<unsigned>(threads)), arguments, 0,
                                    stream.get()),
        "launch a kernel with all its blocks at once");
}

}  // namespace grainscope::cuda

#endif
