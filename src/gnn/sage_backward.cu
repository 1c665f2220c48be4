// The way back through a mean without atomic sums: edges are sorted by source, and a warp adds up what each
// source gets, in the order of its destinations.

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "../cuda/launch.cuh"
#include "grainscope/cuda/check.hpp"
#include "grainscope/gnn/access.hpp"
#include "pair_sort.hpp"
#include "sage_kernels.hpp"

namespace grainscope::gnn {
namespace {

constexpr int kIndexBits = 32;

// Of each edge its destination.
__global__ void __launch_bounds__(kSageThreads) name_destinations(const HopView hop, std::uint32_t* to) {
  for (std::uint64_t i = cuda::thread_of_grid() / kWarpLanes; i < hop.destinations;
       i += cuda::threads_of_grid() / kWarpLanes) {
    const std::uint64_t last = hop.offsets[i + 1];
    for (std::uint64_t edge = hop.offsets[i] + threadIdx.x % kWarpLanes; edge < last; edge += kWarpLanes) {
      to[edge] = static_cast<std::uint32_t>(i);
    }
  }
}

// How many of the ascending values are below `value`.
__device__ std::uint64_t below(const std::uint32_t* values, std::uint64_t count, std::uint32_t value) {
  std::uint64_t first = 0;
  while (count > 0) {
    const std::uint64_t half = count / 2;
    if (values[first + half] < value) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

__global__ void __launch_bounds__(kSageThreads)
    gather_slopes(const HopView hop, const std::uint32_t* sources, const std::uint32_t* destinations,
                  const float* d_x, const float* rows, std::uint32_t width, float* d_rows) {
  for (std::uint64_t row = cuda::thread_of_grid() / kWarpLanes; row < hop.nodes;
       row += cuda::threads_of_grid() / kWarpLanes) {
    const std::uint64_t first = below(sources, hop.edges, static_cast<std::uint32_t>(row));
    const std::uint64_t last =
        first + below(sources + first, hop.edges - first, static_cast<std::uint32_t>(row) + 1);
    for (std::uint32_t j = threadIdx.x % kWarpLanes; j < width; j += kWarpLanes) {
      float sum = row < hop.destinations ? d_x[row * 2 * width + j] : 0.0F;
#pragma unroll 4
      for (std::uint64_t edge = first; edge < last; ++edge) {
        const std::uint64_t i = destinations[edge];
        const auto degree = static_cast<float>(hop.offsets[i + 1] - hop.offsets[i]);
        sum += d_x[(i * 2 + 1) * width + j] / degree;
      }
      d_rows[row * width + j] = rows[row * width + j] > 0 ? sum : 0.0F;
    }
  }
}

}  // namespace

std::uint64_t edge_sort_bytes(std::uint64_t edges) {
  return pair_sort_bytes(edges, kIndexBits);
}

void turn_hop(const HopView& hop, const TurnedHop& turned, cudaStream_t stream) {
  name_destinations<<<sage_blocks(std::uint64_t{hop.destinations} * kWarpLanes), kSageThreads, 0, stream>>>(
      hop, turned.unsorted);
  cuda::check_launch("name_destinations");
  if (hop.edges == 0) {
    return;
  }
  const int bits = std::max(1, static_cast<int>(std::bit_width(hop.nodes - 1)));
  sort_pairs(turned.scratch, turned.scratch_bytes, {hop.sources, turned.unsorted},
             {turned.sources, turned.destinations}, hop.edges, bits, stream, "sort edges by source");
}

void back_to_rows(const HopView& hop, const TurnedHop& turned, const float* d_x, const float* rows,
                  std::uint32_t width, float* d_rows, cudaStream_t stream) {
  gather_slopes<<<sage_blocks(std::uint64_t{hop.nodes} * kWarpLanes), kSageThreads, 0, stream>>>(
      hop, turned.sources, turned.destinations, d_x, rows, width, d_rows);
  cuda::check_launch("back_to_rows");
}

}  // namespace grainscope::gnn
