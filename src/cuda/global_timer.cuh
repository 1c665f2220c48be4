#ifndef GRAINSCOPE_SRC_CUDA_GLOBAL_TIMER_CUH
#define GRAINSCOPE_SRC_CUDA_GLOBAL_TIMER_CUH

#include <cstdint>

namespace grainscope::cuda {

// Nanoseconds on the GPU's own clock, which ticks every 32 ns to every microsecond: for time-outs.
__device__ inline std::uint64_t global_timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace grainscope::cuda

#endif
