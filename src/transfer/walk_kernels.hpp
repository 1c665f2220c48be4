#ifndef GRAINSCOPE_SRC_TRANSFER_WALK_KERNELS_HPP
#define GRAINSCOPE_SRC_TRANSFER_WALK_KERNELS_HPP

// The kernels that read or write memory from registers, one for each pattern and width of a walk.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

constexpr std::uint64_t kChunkBytes = 128;  // of a thread in a strided walk
constexpr int kMostMultiprocessors = 1024;

// What a walk leaves in device memory, added up over all launches.
struct WalkOutcome {
  unsigned long long sum;                                    // mod 2⁶⁴, of every word read
  std::uint32_t multiprocessors[kMostMultiprocessors / 32];  // a bit for each that had a block
};

// Loads the kernel of a walk for the current GPU.
void load_walk_kernel(const Walk& walk, bool reads);

// Reads `bytes` from `first`, and adds every word's value to the outcome's sum.
void launch_read_walk(const Walk& walk, unsigned blocks, const std::byte* first, std::uint64_t bytes,
                      WalkOutcome* outcome, cudaStream_t stream);
// Writes the payload's pattern to `bytes` from `first`.
void launch_write_walk(const Walk& walk, unsigned blocks, std::byte* first, std::uint64_t bytes,
                       WalkOutcome* outcome, cudaStream_t stream);

}  // namespace grainscope::transfer

#endif
