#include "counts_scan.hpp"

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include "grainscope/cuda/check.hpp"

namespace grainscope::graph {
namespace {

// Without memory it tells `bytes`, what it needs.
void scan(void* memory, std::size_t& bytes, const std::uint32_t* from, std::uint64_t* to, std::uint64_t count,
          cudaStream_t stream) {
  cuda::check(cub::DeviceScan::ExclusiveScan(memory, bytes, from, to, ::cuda::std::plus<std::uint64_t>{},
                                             std::uint64_t{0}, static_cast<int>(count), stream),
              "scan the counts of a frontier");
}

std::size_t scratch_bytes(std::uint64_t count) {
  std::size_t bytes = 0;
  scan(nullptr, bytes, nullptr, nullptr, count, nullptr);
  return std::max<std::size_t>(bytes, 1);
}

}  // namespace

CountsScan::CountsScan(int gpu, std::uint64_t most) : scratch_(gpu, scratch_bytes(most)) {}

void CountsScan::submit(const std::uint32_t* from, std::uint64_t* to, std::uint64_t count,
                        cudaStream_t stream) const {
  std::size_t bytes = scratch_.bytes();
  scan(scratch_.data(), bytes, from, to, count, stream);
}

}  // namespace grainscope::graph
