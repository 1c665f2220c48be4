#include "batch_kernel.hpp"

#include <cuda_runtime.h>

#include "grainscope/cuda/check.hpp"

namespace grainscope::transfer {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr int kInFlight = 4;  // independent loads of a thread before the first store
// Up to this a warp has a piece done in a few rounds of loads, and more warps have work.
constexpr std::uint64_t kBytesForWarp = 8 * 1024;

// Copies a piece as elements of `T`: `lanes` threads side by side, of which this is `lane`.
template <class T>
__device__ void copy_elements(const PieceCopy& piece, unsigned lane, unsigned lanes) {
  auto* to = reinterpret_cast<T*>(piece.to);
  const auto* from = reinterpret_cast<const T*>(piece.from);
  const std::uint64_t count = piece.bytes / sizeof(T);
  std::uint64_t i = lane;
  for (; i + std::uint64_t{kInFlight - 1} * lanes < count; i += std::uint64_t{kInFlight} * lanes) {
    T values[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      values[k] = from[i + static_cast<std::uint64_t>(k) * lanes];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      to[i + static_cast<std::uint64_t>(k) * lanes] = values[k];
    }
  }
  for (; i < count; i += lanes) {
    to[i] = from[i];
  }
}

__global__ void copy_pieces(const PieceCopy* table, std::uint64_t pieces, unsigned lanes) {
  const unsigned groups = blockDim.x / lanes;
  const std::uint64_t index = std::uint64_t{blockIdx.x} * groups + threadIdx.x / lanes;
  if (index >= pieces) {
    return;
  }
  const PieceCopy piece = table[index];
  const unsigned lane = threadIdx.x % lanes;
  // The widest element that both ends and the length allow; the same for all lanes.
  const auto all =
      reinterpret_cast<std::uintptr_t>(piece.to) | reinterpret_cast<std::uintptr_t>(piece.from) | piece.bytes;
  if (all % sizeof(uint4) == 0) {
    copy_elements<uint4>(piece, lane, lanes);
  } else if (all % sizeof(std::uint32_t) == 0) {
    copy_elements<std::uint32_t>(piece, lane, lanes);
  } else {
    copy_elements<std::uint8_t>(piece, lane, lanes);
  }
}

}  // namespace

void launch_piece_kernel(const PieceCopy* table, std::uint64_t pieces, std::uint64_t largest_bytes,
                         const cuda::Stream& stream) {
  const unsigned lanes = largest_bytes <= kBytesForWarp ? kWarp : kThreads;
  const unsigned groups = kThreads / lanes;
  const auto blocks = static_cast<unsigned>((pieces + groups - 1) / groups);
  copy_pieces<<<blocks, kThreads, 0, stream.get()>>>(table, pieces, lanes);
  cuda::check_launch("copy_pieces");
}

}  // namespace grainscope::transfer
