#include "read_pieces.hpp"

#include <cuda_runtime.h>

#include "grainscope/cuda/check.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kBlocks = 256;  // Comm|Scope's grid, as in touch_pages
constexpr int kThreads = 256;
constexpr std::uint64_t kWarp = 32;
constexpr std::uint64_t kChunkElements = 4096 / sizeof(uint4);

// `piece` and `stride` are counted in elements of 16 bytes.
__global__ void sum_pieces(const uint4* data, std::uint64_t pieces, std::uint64_t piece, std::uint64_t stride,
                           unsigned long long* sum) {
  const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / kWarp;
  const std::uint64_t warp = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  const std::uint64_t chunks = (piece + kChunkElements - 1) / kChunkElements;  // of a piece
  unsigned long long own = 0;
  for (std::uint64_t chunk = warp; chunk < pieces * chunks; chunk += warps) {
    const std::uint64_t begin = chunk % chunks * kChunkElements;
    const std::uint64_t end = begin + kChunkElements < piece ? begin + kChunkElements : piece;
    const uint4* first = data + chunk / chunks * stride;
    for (std::uint64_t i = begin + threadIdx.x % kWarp; i < end; i += kWarp) {
      const uint4 words = first[i];
      own += std::uint64_t{words.x} + words.y + words.z + words.w;
    }
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    own += __shfl_down_sync(~0U, own, lanes);
  }
  if (threadIdx.x % kWarp == 0 && own != 0) {
    atomicAdd(sum, own);
  }
}

}  // namespace

void load_piece_reader() {
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, sum_pieces), "load the kernel that reads pieces");
}

void read_pieces(const void* data, const PieceRow& row, unsigned long long* sum, const cuda::Stream& stream) {
  sum_pieces<<<kBlocks, kThreads, 0, stream.get()>>>(static_cast<const uint4*>(data), row.pieces,
                                                     row.piece_bytes / sizeof(uint4),
                                                     row.stride_bytes / sizeof(uint4), sum);
  cuda::check_launch("sum_pieces");
}

}  // namespace grainscope::transfer
