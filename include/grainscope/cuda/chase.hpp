#ifndef GRAINSCOPE_CUDA_CHASE_HPP
#define GRAINSCOPE_CUDA_CHASE_HPP

// Latency as a GPU sees it: a chain of pointers in any memory that it can reach, walked by one thread, each
// load's address the result of the load before. After nvbandwidth's pointer chase.

#include <cstdint>

#include "grainscope/core/cycle.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

// Bytes between two nodes of a chain: a line of the GPU's caches.
inline constexpr std::uint64_t kChaseStride = 128;

class Chase {
 public:
  // Where the chain lies; owned by the caller, and longer-lived.
  struct Memory {
    void* device = nullptr;   // as the walking GPU addresses it
    void* host = nullptr;     // as the CPU addresses it; null: not host memory, and the GPU lays the chain
    std::uint64_t bytes = 0;  // a power of two
  };

  // Lays one cycle through all of the memory, for `gpu`, which is current, to walk. Loads its kernels.
  // Throws UsageError for a size or an alignment that no chain fits.
  Chase(int gpu, const Memory& memory, Cycle::Order order);

  // Follows `steps` links from where the last walk ended, in `kernels` equal parts, each a kernel of its own
  // on another multiprocessor, since the way to memory is not equally long from all of them. Seconds between
  // two events, behind a closed gate. Throws UsageError where the parts are not equal, FailedError where the
  // walk did not end at the node where so many links must lead.
  [[nodiscard]] double walk(std::uint64_t steps, int kernels);

  // Throws FailedError unless the links form one cycle through every node. Call before the first walk: a link
  // that leads out of the memory would end the GPU's context.
  void expect_one_cycle() const;

  [[nodiscard]] std::uint64_t nodes() const noexcept { return cycle_.places(); }

 private:
  void lay_from_host() const;
  void lay_from_gpu() const;
  void expect_end() const;

  Memory memory_;
  Cycle cycle_;
  int gpu_;
  int multiprocessors_;
  Stream stream_;
  GatedStopwatch stopwatch_;
  DeviceBuffer here_;  // a pointer: the node where the next walk begins
  std::uint64_t walked_ = 0;
  unsigned next_block_ = 0;
};

}  // namespace grainscope::cuda

#endif
