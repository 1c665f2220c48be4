// The kernels that copy boxes and pages. One kernel copies a box to a box, whatever lies between their
// rows: direct copies, packing and unpacking differ in the layouts alone.

#include <cuda_runtime.h>

#include <algorithm>
#include <optional>
#include <string>

#include "../cuda/bulk.cuh"
#include "../cuda/launch.cuh"
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

constexpr unsigned kPieceThreads = 1024;
constexpr unsigned kWarps = kPieceThreads / cuda::kLanesOfWarp;
constexpr unsigned kInFlight = 8;  // independent loads of a thread before its first store
// What a warp has under way at once by loads of 16 bytes; in bulk the same, in shared memory.
constexpr unsigned kChunkBytes = cuda::kLanesOfWarp * kInFlight * sizeof(uint4);

// Copies `bytes` of a chunk as elements of `T`, all lanes of a warp side by side.
template <class T>
__device__ void copy_chunk(std::byte* to, const std::byte* from, unsigned bytes) {
  auto* elements = reinterpret_cast<T*>(to);
  const auto* source = reinterpret_cast<const T*>(from);
  const unsigned count = bytes / sizeof(T);
  for (unsigned first = static_cast<unsigned>(cuda::lane_of_warp()); first < count;
       first += kInFlight * cuda::kLanesOfWarp) {
    T values[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (first + k * cuda::kLanesOfWarp < count) {
        values[k] = source[first + k * cuda::kLanesOfWarp];
      }
    }
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (first + k * cuda::kLanesOfWarp < count) {
        elements[first + k * cuda::kLanesOfWarp] = values[k];
      }
    }
  }
}

// A chunk of a piece: nothing where the piece is shorter than the longest.
struct Chunk {
  std::byte* to;
  const std::byte* from;
  unsigned bytes;
};

__device__ Chunk chunk_of(const PieceCopy* table, std::uint64_t index, unsigned chunks) {
  const std::uint64_t piece_index = index / chunks;
  const std::uint64_t offset = (index - piece_index * chunks) * kChunkBytes;
  const PieceCopy piece = table[piece_index];
  if (offset >= piece.bytes) {
    return {nullptr, nullptr, 0};
  }
  const std::uint64_t rest = piece.bytes - offset;
  return {piece.to + offset, piece.from + offset,
          rest < kChunkBytes ? static_cast<unsigned>(rest) : kChunkBytes};
}

// `chunks`: of the largest piece. Neighbouring warps take neighbouring chunks.
__global__ void __launch_bounds__(kPieceThreads)
    copy_pieces(const PieceCopy* table, std::uint64_t pieces, unsigned chunks) {
  const std::uint64_t all = pieces * chunks;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kWarps;
  for (std::uint64_t i = cuda::thread_of_grid() / cuda::kLanesOfWarp; i < all; i += stride) {
    const Chunk chunk = chunk_of(table, i, chunks);
    // The widest element that both ends and the length allow; the same for all lanes.
    const auto aligned = reinterpret_cast<std::uintptr_t>(chunk.to) |
                         reinterpret_cast<std::uintptr_t>(chunk.from) | chunk.bytes;
    if (aligned % sizeof(uint4) == 0) {
      copy_chunk<uint4>(chunk.to, chunk.from, chunk.bytes);
    } else if (aligned % sizeof(std::uint32_t) == 0) {
      copy_chunk<std::uint32_t>(chunk.to, chunk.from, chunk.bytes);
    } else {
      copy_chunk<std::uint8_t>(chunk.to, chunk.from, chunk.bytes);
    }
  }
}

// The same in bulk: the first lane of each warp has a chunk loaded into the warp's stage, and stored from
// there. Addresses and lengths are multiples of kBulkUnit.
__global__ void __launch_bounds__(kPieceThreads)
    copy_pieces_in_bulk(const PieceCopy* table, std::uint64_t pieces, unsigned chunks) {
  cuda::BulkStage stage(kChunkBytes);
  if (cuda::lane_of_warp() != 0) {
    return;
  }
  const std::uint64_t all = pieces * chunks;
  for (std::uint64_t i = cuda::stage_of_grid(); i < all; i += cuda::stages_of_grid()) {
    const Chunk chunk = chunk_of(table, i, chunks);
    if (chunk.bytes == 0) {
      continue;
    }
    stage.expect(chunk.bytes);
    stage.load(0, chunk.from, chunk.bytes);
    stage.wait();
    cuda::bulk_store(chunk.to, stage.chunk(), chunk.bytes);
    cuda::bulk_commit();
    cuda::bulk_wait_read<0>();
  }
  cuda::bulk_wait_stored();
}

unsigned chunks_of(std::uint64_t bytes) {
  const std::uint64_t chunks = (bytes + kChunkBytes - 1) / kChunkBytes;
  return static_cast<unsigned>(std::max<std::uint64_t>(chunks, 1));
}

const void* piece_kernel(bool bulk) {
  return bulk ? reinterpret_cast<const void*>(copy_pieces_in_bulk)
              : reinterpret_cast<const void*>(copy_pieces);
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

void load_piece_kernel(bool bulk) {
  if (bulk) {
    cuda::load_bulk_kernel(piece_kernel(bulk), cuda::BulkStage::shared_bytes(kChunkBytes, kWarps),
                           cuda::current_gpu());
  } else {
    cuda::load_kernel(piece_kernel(bulk), "load the kernel that copies pieces");
  }
}

unsigned piece_blocks(std::uint64_t pieces, std::uint64_t largest_bytes, bool bulk,
                      std::optional<unsigned> most) {
  const std::uint64_t useful = (pieces * chunks_of(largest_bytes) + kWarps - 1) / kWarps;
  const int gpu = cuda::current_gpu();
  // In bulk a block takes most of a multiprocessor's shared memory.
  const unsigned full = bulk ? static_cast<unsigned>(cuda::sm_count(gpu))
                             : cuda::full_grid(piece_kernel(bulk), static_cast<int>(kPieceThreads), gpu);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, most.value_or(full)));
}

void launch_piece_kernel(const PieceLaunch& launch, const cuda::Stream& stream) {
  const unsigned chunks = chunks_of(launch.largest_bytes);
  if (launch.bulk) {
    copy_pieces_in_bulk<<<launch.blocks, kPieceThreads, cuda::BulkStage::shared_bytes(kChunkBytes, kWarps),
                          stream.get()>>>(launch.table, launch.pieces, chunks);
  } else {
    copy_pieces<<<launch.blocks, kPieceThreads, 0, stream.get()>>>(launch.table, launch.pieces, chunks);
  }
  cuda::check_launch("copy_pieces");
}

}  // namespace grainscope::transfer
