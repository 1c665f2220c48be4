// The kernels that copy boxes and pieces. One kernel copies a box to a box, whatever lies between their
// rows: direct copies, packing and unpacking differ in the layouts alone.

#include <cuda_runtime.h>

#include <algorithm>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/transfer/shape.hpp"
#include "grainscope/transfer/shape_copy.hpp"

namespace grainscope::transfer {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kBlocksPerSm = 8;  // 2048 threads: all that a multiprocessor holds

struct Layout {
  std::uint64_t pitch;
  std::uint64_t plane;
};

template <class T>
__global__ void copy_box(std::byte* to, Layout to_layout, const std::byte* from, Layout from_layout,
                         BoxExtent extent, bool chunked) {
  for (BoxWalk walk = walk_box(extent, {blockIdx.x, gridDim.x, threadIdx.x, blockDim.x}, chunked);
       !walk.done(); walk.advance(extent)) {
    const std::uint64_t in_row = std::uint64_t{walk.x} * sizeof(T);
    const std::byte* source = from + walk.z * from_layout.plane + walk.y * from_layout.pitch + in_row;
    std::byte* destination = to + walk.z * to_layout.plane + walk.y * to_layout.pitch + in_row;
    *reinterpret_cast<T*>(destination) = *reinterpret_cast<const T*>(source);
  }
}

using Kernel = void (*)(std::byte*, Layout, const std::byte*, Layout, BoxExtent, bool);

Kernel kernel_for(int element_bytes) {
  switch (element_bytes) {
    case 1:
      return copy_box<std::uint8_t>;
    case 2:
      return copy_box<std::uint16_t>;
    case 4:
      return copy_box<std::uint32_t>;
    case 8:
      return copy_box<uint2>;
    case 16:
      return copy_box<uint4>;
    default:
      throw UsageError("an element of a box is 1, 2, 4, 8 or 16 bytes, not " + std::to_string(element_bytes));
  }
}

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

BoxLaunch box_launch(const Box& to, const Box& from, bool chunked) {
  const int element = widest_element(to, from);
  const std::uint64_t elements = from.bytes() / static_cast<std::uint64_t>(element);
  const std::uint64_t useful = chunked ? from.all_rows() : (elements + kThreads - 1) / kThreads;
  const auto full = kBlocksPerSm * static_cast<std::uint64_t>(cuda::sm_count(cuda::current_gpu()));
  return {static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, full)), kThreads, element};
}

void launch_box_kernel(const PlacedBox& to, const PlacedBox& from, bool chunked, const cuda::Stream& stream) {
  const BoxLaunch launch = box_launch(to.box, from.box, chunked);
  const auto element = static_cast<std::uint64_t>(launch.element_bytes);
  const BoxExtent extent{static_cast<unsigned>(from.box.width_bytes / element),
                         static_cast<unsigned>(from.box.rows), from.box.all_rows()};
  kernel_for(launch.element_bytes)<<<launch.blocks, launch.threads, 0, stream.get()>>>(
      to.first, {to.box.pitch_bytes, to.box.plane_bytes()}, from.first,
      {from.box.pitch_bytes, from.box.plane_bytes()}, extent, chunked);
  cuda::check_launch("copy_box");
}

void launch_piece_kernel(const PieceCopy* table, std::uint64_t pieces, std::uint64_t largest_bytes,
                         const cuda::Stream& stream) {
  const unsigned lanes = largest_bytes <= kBytesForWarp ? kWarp : kThreads;
  const unsigned groups = kThreads / lanes;
  const auto blocks = static_cast<unsigned>((pieces + groups - 1) / groups);
  copy_pieces<<<blocks, kThreads, 0, stream.get()>>>(table, pieces, lanes);
  cuda::check_launch("copy_pieces");
}

}  // namespace grainscope::transfer
