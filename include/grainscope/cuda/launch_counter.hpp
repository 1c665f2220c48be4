#ifndef GRAINSCOPE_CUDA_LAUNCH_COUNTER_HPP
#define GRAINSCOPE_CUDA_LAUNCH_COUNTER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

// The smallest kernel that leaves a trace: one thread that adds 1 to a counter in device memory. What is
// launched, by hand or in a graph, can be counted afterwards.
class LaunchCounter {
 public:
  // On `gpu`, which is current. Loads the kernel, whose arguments take `argument_bytes`, the counter's
  // address among them: 8, 64, 1024 or 4096. Throws UsageError for another number.
  explicit LaunchCounter(int gpu, int argument_bytes = 8);
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
  const void* kernel_;
  std::vector<std::byte> payload_;  // the arguments behind the address
};

}  // namespace grainscope::cuda

#endif
