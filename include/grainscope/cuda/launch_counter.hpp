#ifndef GRAINSCOPE_CUDA_LAUNCH_COUNTER_HPP
#define GRAINSCOPE_CUDA_LAUNCH_COUNTER_HPP

#include <cstdint>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

// The smallest kernel that leaves a trace: one thread that adds 1 to a counter in device memory. What is
// launched, by hand or in a graph, can be counted afterwards.
class LaunchCounter {
 public:
  // On `gpu`, which is current. Loads the kernel.
  explicit LaunchCounter(int gpu);
  // Enqueues one; the bare status, so that nothing but the call is timed.
  [[nodiscard]] cudaError_t try_launch(const Stream& stream) const noexcept;
  // Enqueues one. Throws FailedError.
  void launch(const Stream& stream) const;
  // Kernels that have run since construction; waits for `stream`.
  [[nodiscard]] std::uint64_t count(const Stream& stream) const;
  // Throws FailedError unless exactly so many have run.
  void expect(std::uint64_t launches, const Stream& stream) const;

 private:
  DeviceBuffer counter_;
};

}  // namespace grainscope::cuda

#endif
