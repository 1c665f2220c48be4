#ifndef GRAINSCOPE_GNN_CUDA_SAGE_HPP
#define GRAINSCOPE_GNN_CUDA_SAGE_HPP

// GraphSAGE's training step on a GPU, as something that can be enqueued on any stream: float32, products by
// cuBLAS without TF32, aggregation by kernels without atomic sums, so that the same mini-batches give the
// same losses, bit for bit, whatever runs beside them.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/graphsage.hpp"

namespace grainscope::gnn {

// What one step trains on. Counts that sampling decided are known to the host by then.
struct SageBatch {
  const DeviceMiniBatch* sampled = nullptr;
  std::vector<std::uint32_t> nodes_upto;  // [hops + 1]
  std::vector<std::uint64_t> edges;       // [hops]
  const float* rows = nullptr;            // f32[nodes][features], device, at a boundary of 16 bytes if the
                                          // width is a multiple of it
  const std::uint16_t* labels = nullptr;  // u16[V] by vertex, device
};

class CudaSage {
 public:
  // On `gpu`, for mini-batches up to `most`. Loads kernels and cuBLAS. Gradients go to `gradient`
  // (f32[parameters()], of that GPU, outlives it) where it is given. Throws SkipError where the GPU has no
  // room, FailedError where cuBLAS does not start, UsageError as require_shape.
  CudaSage(int gpu, const SageShape& shape, const MostOf& most, std::uint64_t most_losses,
           float* gradient = nullptr);
  ~CudaSage();
  CudaSage(const CudaSage&) = delete;
  CudaSage& operator=(const CudaSage&) = delete;

  // Begins anew from parameters on the host (as initial_parameters); waits.
  void reset(std::span<const float> parameters);
  // Enqueues forward and backward: gradient() becomes the mini-batch's, and loss number `loss` its mean loss.
  void enqueue_gradient(const SageBatch& batch, std::uint64_t loss, const cuda::Stream& stream);
  // Enqueues SGD: parameters −= rate · mean of the gradients, added up in their order; those of other GPUs
  // are read over peer access.
  void enqueue_update(double rate, std::span<const float* const> gradients, const cuda::Stream& stream);

  [[nodiscard]] const float* gradient() const;                         // f32[parameters()], device
  [[nodiscard]] std::vector<float> losses(std::uint64_t count) const;  // waits for the GPU
  [[nodiscard]] std::vector<float> parameters() const;                 // likewise
  [[nodiscard]] std::uint64_t gpu_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grainscope::gnn

#endif
