#ifndef GRAINSCOPE_SRC_GNN_SAGE_KERNELS_HPP
#define GRAINSCOPE_SRC_GNN_SAGE_KERNELS_HPP

// The kernels of a training step beside cuBLAS's. All enqueue on the current GPU; all memory is the device's.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "grainscope/gnn/sampling.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

// Of the kernels below: threads in a block, and blocks for `threads` threads, of which a grid may hold fewer
// (its threads then take several items).
inline constexpr int kSageThreads = 256;
inline unsigned sage_blocks(std::uint64_t threads) {
  constexpr std::uint64_t kMost = 8192;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((threads + kSageThreads - 1) / kSageThreads, 1, kMost));
}

// A hop as kernels walk it.
struct HopView {
  const std::uint64_t* offsets = nullptr;  // [destinations + 1]
  const std::uint32_t* sources = nullptr;  // [edges]
  std::uint32_t destinations = 0;
  std::uint32_t nodes = 0;  // that it reads
  std::uint64_t edges = 0;
};

// x[destinations][2 width] = [own row | mean of the sources' rows], f32; `rows`: f32[nodes][width].
void own_and_mean(const HopView& hop, const float* rows, std::uint32_t width, float* x, cudaStream_t stream);

// z[rows][columns] += bias; with `cut` max(·, 0) of it.
void add_bias(float* z, const float* bias, std::uint64_t rows, std::uint32_t columns, bool cut,
              cudaStream_t stream);

// Softmax cross entropy: the seeds' losses, the gradient by their scores (of the mean loss), and the mean
// loss itself, summed in one order.
struct LossView {
  const float* scores = nullptr;          // [seeds][classes]
  const graph::Vertex* seeds = nullptr;   // [seeds]
  const std::uint16_t* labels = nullptr;  // by vertex
  std::uint32_t count = 0;                // of seeds
  std::uint32_t classes = 0;
  float* slopes = nullptr;  // [seeds][classes]
  float* losses = nullptr;  // [seeds]
  float* mean = nullptr;    // one
};
void softmax_loss(const LossView& view, cudaStream_t stream);

// The hop's edges by source: `sources` sorted, `destinations` beside it in the order of the edges. `scratch`
// as edge_sort_bytes, `unsorted` u32[edges].
struct TurnedHop {
  std::uint32_t* sources = nullptr;
  std::uint32_t* destinations = nullptr;
  std::uint32_t* unsorted = nullptr;
  void* scratch = nullptr;
  std::uint64_t scratch_bytes = 0;
};
[[nodiscard]] std::uint64_t edge_sort_bytes(std::uint64_t edges);
void turn_hop(const HopView& hop, const TurnedHop& turned, cudaStream_t stream);

// d_rows[nodes][width]: what reached x = [own | mean] goes back to the rows it was made of, and is cut where
// `rows` was not above 0.
void back_to_rows(const HopView& hop, const TurnedHop& turned, const float* d_x, const float* rows,
                  std::uint32_t width, float* d_rows, cudaStream_t stream);

// Gradients of all GPUs, by value.
struct GradientList {
  const float* of[kMostGpus] = {};
  std::uint32_t count = 0;
};
// parameters −= step · (sum of the gradients in their order).
void descend(float* parameters, std::uint64_t count, float step, const GradientList& gradients,
             cudaStream_t stream);

void fill_ones(float* memory, std::uint64_t count, cudaStream_t stream);

// What the host must know of a sampled mini-batch: nodes_upto [hops + 1], then edges of each hop.
struct SizeSources {
  const std::uint32_t* nodes_upto = nullptr;
  const std::uint64_t* offsets[kMostHops] = {};
  int hops = 0;
};
void report_sizes(const SizeSources& from, std::uint64_t* to, cudaStream_t stream);

// Counts elements of f32[count][columns] that differ from the table's closed form, into u64 `wrong`.
void count_wrong(const float* rows, const graph::Vertex* nodes, std::uint64_t count, std::uint32_t columns,
                 std::uint64_t seed, unsigned long long* wrong, cudaStream_t stream);

}  // namespace grainscope::gnn

#endif
