// GraphSAGE's kernels: a warp takes a destination, its lanes stand side by side on a row.

#include "sage_kernels.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../cuda/launch.cuh"
#include "grainscope/cuda/check.hpp"
#include "grainscope/gnn/access.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "pair_sort.hpp"

namespace grainscope::gnn {
namespace {

__device__ void add(float& sum, float value) {
  sum += value;
}
__device__ void add(float4& sum, const float4& value) {
  sum.x += value.x;
  sum.y += value.y;
  sum.z += value.z;
  sum.w += value.w;
}
__device__ float times(float value, float factor) {
  return value * factor;
}
__device__ float4 times(const float4& value, float factor) {
  return make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
}
__device__ void clear(float& value) {
  value = 0;
}
__device__ void clear(float4& value) {
  value = make_float4(0, 0, 0, 0);
}

// `width`: of a row, in units.
template <class Unit>
__global__ void __launch_bounds__(kSageThreads)
    own_and_mean_of(const HopView hop, const Unit* rows, std::uint32_t width, Unit* x) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint64_t warps = cuda::threads_of_grid() / kWarpLanes;
  for (std::uint64_t i = cuda::thread_of_grid() / kWarpLanes; i < hop.destinations; i += warps) {
    const std::uint64_t first = hop.offsets[i];
    const std::uint64_t last = hop.offsets[i + 1];
    const float share = last > first ? 1.0F / static_cast<float>(last - first) : 0.0F;
    for (std::uint32_t j = lane; j < width; j += kWarpLanes) {
      Unit sum;
      clear(sum);
#pragma unroll 4
      for (std::uint64_t edge = first; edge < last; ++edge) {
        add(sum, rows[std::uint64_t{hop.sources[edge]} * width + j]);
      }
      x[i * 2 * width + j] = rows[i * width + j];
      x[(i * 2 + 1) * width + j] = times(sum, share);
    }
  }
}

__global__ void add_bias_to(float* z, const float* bias, std::uint64_t rows, std::uint32_t columns,
                            bool cut) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < rows * columns; i += cuda::threads_of_grid()) {
    const float value = z[i] + bias[i % columns];
    z[i] = cut ? fmaxf(value, 0.0F) : value;
  }
}

// A warp a seed.
__global__ void __launch_bounds__(kSageThreads) softmax_of(const LossView view) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const std::uint64_t warps = cuda::threads_of_grid() / kWarpLanes;
  const auto seeds = static_cast<float>(view.count);
  for (std::uint64_t i = cuda::thread_of_grid() / kWarpLanes; i < view.count; i += warps) {
    const float* scores = view.scores + i * view.classes;
    const std::uint32_t label = view.labels[view.seeds[i]];
    float highest = -INFINITY;
    for (std::uint32_t c = lane; c < view.classes; c += kWarpLanes) {
      highest = fmaxf(highest, scores[c]);
    }
    highest = cuda::all_of_warp(highest, [](float one, float other) { return fmaxf(one, other); });
    float total = 0;
    for (std::uint32_t c = lane; c < view.classes; c += kWarpLanes) {
      total += expf(scores[c] - highest);
    }
    total = cuda::sum_of_warp(total);
    for (std::uint32_t c = lane; c < view.classes; c += kWarpLanes) {
      const float share = expf(scores[c] - highest) / total;
      view.slopes[i * view.classes + c] = (share - (c == label ? 1.0F : 0.0F)) / seeds;
    }
    if (lane == 0) {
      view.losses[i] = logf(total) + highest - scores[label];
    }
  }
}

// By one block: each thread every kSageThreads-th loss, then a tree.
__global__ void __launch_bounds__(kSageThreads)
    mean_of(const float* losses, std::uint32_t count, float* mean) {
  __shared__ double sums[kSageThreads];
  double sum = 0;
  for (std::uint32_t i = threadIdx.x; i < count; i += kSageThreads) {
    sum += static_cast<double>(losses[i]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = kSageThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      sums[threadIdx.x] += sums[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *mean = static_cast<float>(sums[0] / static_cast<double>(count));
  }
}

__global__ void descend_by(float* parameters, std::uint64_t count, float step,
                           const __grid_constant__ GradientList gradients) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    float sum = 0;
    for (std::uint32_t g = 0; g < gradients.count; ++g) {
      sum += gradients.of[g][i];
    }
    parameters[i] -= step * sum;
  }
}

__global__ void ones(float* memory, std::uint64_t count) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    memory[i] = 1.0F;
  }
}

__global__ void report(const SizeSources from, std::uint64_t* to) {
  const int h = static_cast<int>(threadIdx.x);
  if (h <= from.hops) {
    to[h] = from.nodes_upto[h];
  }
  if (h < from.hops) {
    to[from.hops + 1 + h] = from.offsets[h][from.nodes_upto[h]];
  }
}

__global__ void count_wrong_in(const float* rows, const graph::Vertex* nodes, std::uint64_t count,
                               std::uint32_t columns, std::uint64_t seed, unsigned long long* wrong) {
  unsigned long long found = 0;
  for (std::uint64_t i = cuda::thread_of_grid(); i < count * columns; i += cuda::threads_of_grid()) {
    found += rows[i] != feature(seed, nodes[i / columns], static_cast<std::uint32_t>(i % columns)) ? 1 : 0;
  }
  if (found > 0) {
    atomicAdd(wrong, found);
  }
}

}  // namespace

void own_and_mean(const HopView& hop, const float* rows, std::uint32_t width, float* x, cudaStream_t stream) {
  const unsigned blocks = sage_blocks(std::uint64_t{hop.destinations} * kWarpLanes);
  if (width % 4 == 0) {
    own_and_mean_of<float4><<<blocks, kSageThreads, 0, stream>>>(hop, reinterpret_cast<const float4*>(rows),
                                                                 width / 4, reinterpret_cast<float4*>(x));
  } else {
    own_and_mean_of<float><<<blocks, kSageThreads, 0, stream>>>(hop, rows, width, x);
  }
  cuda::check_launch("own_and_mean");
}

void add_bias(float* z, const float* bias, std::uint64_t rows, std::uint32_t columns, bool cut,
              cudaStream_t stream) {
  add_bias_to<<<sage_blocks(rows * columns), kSageThreads, 0, stream>>>(z, bias, rows, columns, cut);
  cuda::check_launch("add_bias");
}

void softmax_loss(const LossView& view, cudaStream_t stream) {
  softmax_of<<<sage_blocks(std::uint64_t{view.count} * kWarpLanes), kSageThreads, 0, stream>>>(view);
  cuda::check_launch("softmax_of");
  mean_of<<<1, kSageThreads, 0, stream>>>(view.losses, view.count, view.mean);
  cuda::check_launch("mean_of");
}

void descend(float* parameters, std::uint64_t count, float step, const GradientList& gradients,
             cudaStream_t stream) {
  descend_by<<<sage_blocks(count), kSageThreads, 0, stream>>>(parameters, count, step, gradients);
  cuda::check_launch("descend");
}

void fill_ones(float* memory, std::uint64_t count, cudaStream_t stream) {
  ones<<<sage_blocks(count), kSageThreads, 0, stream>>>(memory, count);
  cuda::check_launch("fill_ones");
}

void report_sizes(const SizeSources& from, std::uint64_t* to, cudaStream_t stream) {
  report<<<1, kWarpLanes, 0, stream>>>(from, to);
  cuda::check_launch("report_sizes");
}

void count_wrong(const float* rows, const graph::Vertex* nodes, std::uint64_t count, std::uint32_t columns,
                 std::uint64_t seed, unsigned long long* wrong, cudaStream_t stream) {
  count_wrong_in<<<sage_blocks(count * columns), kSageThreads, 0, stream>>>(rows, nodes, count, columns, seed,
                                                                            wrong);
  cuda::check_launch("count_wrong");
}

// The way back through a mean without atomic sums: edges are sorted by source, and a warp adds up what each
// source gets, in the order of its destinations.

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
