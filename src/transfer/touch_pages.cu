#include "touch_pages.hpp"

#include <cuda_runtime.h>

#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/system/host_memory.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kBlocks = 256;  // Comm|Scope's grid
constexpr int kThreads = 256;

// A warp writes one word to a page, the one that it held, and goes on by the number of warps.
__global__ void touch_pages(std::uint32_t* data, std::uint64_t words, std::uint64_t words_per_page) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (std::uint64_t word = warp * words_per_page; word < words; word += warps * words_per_page) {
    if (threadIdx.x % 32 == 0) {
      data[word] = pattern_word(word, kPayload);
    }
  }
}

}  // namespace

void load_touch_kernel() {
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, touch_pages), "load the kernel that touches pages");
}

void touch_from_gpu(std::uint32_t* data, std::uint64_t words, cudaStream_t stream) {
  touch_pages<<<kBlocks, kThreads, 0, stream>>>(data, words, base_page_bytes() / sizeof(std::uint32_t));
  cuda::check_launch("touch_pages");
}

}  // namespace grainscope::transfer
