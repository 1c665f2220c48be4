#include <cuda_runtime.h>

#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/pattern.hpp"

namespace grainscope::cuda {
namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

__global__ void fill(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, std::uint64_t first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride) {
    data[i] = pattern_word(first + i, seed);
  }
}

__global__ void first_mismatch(const std::uint32_t* data, std::uint64_t words, std::uint32_t seed,
                               unsigned long long* first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride) {
    if (data[i] != pattern_word(i, seed)) {
      atomicMin(first, i);
      return;
    }
  }
}

}  // namespace

void fill_pattern(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, const Stream& stream,
                  std::uint64_t first) {
  fill<<<kBlocks, kThreads, 0, stream.get()>>>(data, words, seed, first);
  check_launch("fill");
  stream.synchronize();
}

std::optional<std::uint64_t> find_mismatch(const std::uint32_t* data, std::uint64_t words, std::uint32_t seed,
                                           const Stream& stream) {
  const PinnedBuffer result(sizeof(unsigned long long), PinnedBuffer::Kind::cached);
  auto* first = static_cast<unsigned long long*>(result.data());
  *first = ~0ULL;
  first_mismatch<<<kBlocks, kThreads, 0, stream.get()>>>(
      data, words, seed, static_cast<unsigned long long*>(result.device_data()));
  check_launch("first_mismatch");
  stream.synchronize();
  if (*first == ~0ULL) {
    return std::nullopt;
  }
  return *first;
}

}  // namespace grainscope::cuda
