#include "grainscope/gnn/cuda_sage.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "blas.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "sage_kernels.hpp"

namespace grainscope::gnn {
namespace {

using cuda::DeviceArray;

// Of the layers whose inputs have a gradient: all but the first, whose inputs are the features.
std::uint64_t most_turned_edges(const MostOf& most) {
  std::uint64_t edges = 0;
  for (std::size_t hop = 0; hop + 1 < most.edges.size(); ++hop) {
    edges = std::max(edges, most.edges[hop]);
  }
  return edges;
}

// The largest of `of(layer, its most destinations)` over the layers from `first` on.
template <class Of>
std::uint64_t largest(const SageShape& shape, const MostOf& most, std::uint32_t first, const Of& of) {
  std::uint64_t result = 0;
  for (std::uint32_t layer = first; layer < shape.layers; ++layer) {
    result = std::max<std::uint64_t>(result, of(layer, most.nodes[shape.layers - 1 - layer]));
  }
  return result;
}

const SageShape& checked(const SageShape& shape, const MostOf& most) {
  require_shape(shape);
  if (most.edges.size() != shape.layers) {
    throw UsageError("a model of " + std::to_string(shape.layers) + " layers and mini-batches of " +
                     std::to_string(most.edges.size()) + " hops");
  }
  return shape;
}

}  // namespace

struct CudaSage::State {
  State(int on, const SageShape& wanted, const MostOf& most, std::uint64_t most_losses, float* gradient_at)
      : gpu(on),
        shape(checked(wanted, most)),
        blas(on),
        parameters(on, shape.parameters()),
        own_gradient(on, gradient_at == nullptr ? shape.parameters() : 0),
        gradient(gradient_at == nullptr ? own_gradient.data() : gradient_at),
        losses(on, most_losses),
        seed_losses(on, most.nodes.front()),
        ones(on, most.nodes[shape.layers - 1]),
        d_output(on, largest(shape, most, 0, [&](auto l, auto rows) { return rows * shape.out(l); })),
        d_input(on, largest(shape, most, 1, [&](auto l, auto rows) { return rows * 2 * shape.in(l); })),
        turned_sources(on, most_turned_edges(most)),
        turned_destinations(on, most_turned_edges(most)),
        unsorted(on, most_turned_edges(most)),
        scratch(on, edge_sort_bytes(std::max<std::uint64_t>(most_turned_edges(most), 1))),
        count_of_losses(most_losses) {
    inputs.reserve(shape.layers);
    outputs.reserve(shape.layers);
    for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
      const std::uint64_t rows = most.nodes[shape.layers - 1 - layer];
      inputs.emplace_back(on, rows * 2 * shape.in(layer));
      outputs.emplace_back(on, rows * shape.out(layer));
    }
    fill_ones(ones.data(), most.nodes[shape.layers - 1], nullptr);
    cuda::check(cudaDeviceSynchronize(), "fill memory of a training step");
  }

  [[nodiscard]] HopView hop_of(const SageBatch& batch, std::uint32_t layer) const {
    const std::size_t hop = shape.layers - 1 - layer;
    const DeviceLayer& edges = batch.sampled->layers[hop];
    return {edges.offsets, edges.sources, batch.nodes_upto[hop], batch.nodes_upto[hop + 1], batch.edges[hop]};
  }
  [[nodiscard]] TurnedHop turned() const {
    return {turned_sources.data(), turned_destinations.data(), unsorted.data(), scratch.data(),
            scratch.bytes()};
  }

  void forward(const SageBatch& batch, cudaStream_t stream);
  void backward(const SageBatch& batch, cudaStream_t stream);

  int gpu;
  SageShape shape;
  Blas blas;
  DeviceArray<float> parameters;
  DeviceArray<float> own_gradient;  // where none is given
  float* gradient;
  DeviceArray<float> losses;
  DeviceArray<float> seed_losses;
  DeviceArray<float> ones;
  DeviceArray<float> d_output;
  DeviceArray<float> d_input;
  DeviceArray<std::uint32_t> turned_sources;
  DeviceArray<std::uint32_t> turned_destinations;
  DeviceArray<std::uint32_t> unsorted;
  DeviceArray<std::byte> scratch;
  std::uint64_t count_of_losses;
  std::vector<DeviceArray<float>> inputs;   // of a layer: [destinations][2 in]
  std::vector<DeviceArray<float>> outputs;  // of a layer: [destinations][out]
};

void CudaSage::State::forward(const SageBatch& batch, cudaStream_t stream) {
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const HopView hop = hop_of(batch, layer);
    const float* const rows = layer == 0 ? batch.rows : outputs[layer - 1].data();
    own_and_mean(hop, rows, shape.in(layer), inputs[layer].data(), stream);
    blas.multiply(inputs[layer].data(), parameters.data() + shape.weights_at(layer), hop.destinations,
                  std::uint64_t{2} * shape.in(layer), shape.out(layer), outputs[layer].data());
    add_bias(outputs[layer].data(), parameters.data() + shape.bias_at(layer), hop.destinations,
             shape.out(layer), layer + 1 < shape.layers, stream);
  }
}

void CudaSage::State::backward(const SageBatch& batch, cudaStream_t stream) {
  for (std::uint32_t layer = shape.layers; layer-- > 0;) {
    const HopView hop = hop_of(batch, layer);
    const std::uint64_t in = shape.in(layer);
    const std::uint64_t out = shape.out(layer);
    blas.multiply_turned_left(inputs[layer].data(), d_output.data(), hop.destinations, 2 * in, out,
                              gradient + shape.weights_at(layer));
    blas.sum_columns(d_output.data(), ones.data(), hop.destinations, out, gradient + shape.bias_at(layer));
    if (layer > 0) {
      blas.multiply_turned_right(d_output.data(), parameters.data() + shape.weights_at(layer),
                                 hop.destinations, 2 * in, out, d_input.data());
      turn_hop(hop, turned(), stream);
      back_to_rows(hop, turned(), d_input.data(), outputs[layer - 1].data(), static_cast<std::uint32_t>(in),
                   d_output.data(), stream);
    }
  }
}

CudaSage::CudaSage(int gpu, const SageShape& shape, const MostOf& most, std::uint64_t most_losses,
                   float* gradient) {
  const cuda::DeviceGuard guard(gpu);
  state_ = std::make_unique<State>(gpu, shape, most, most_losses, gradient);
}

CudaSage::~CudaSage() = default;

void CudaSage::reset(std::span<const float> parameters) {
  const cuda::DeviceGuard guard(state_->gpu);
  if (parameters.size() != state_->shape.parameters()) {
    throw UsageError("a GraphSAGE model with " + std::to_string(state_->shape.parameters()) +
                     " parameters, not " + std::to_string(parameters.size()));
  }
  cuda::check(cudaDeviceSynchronize(), "wait for a training step");
  cuda::check(cudaMemcpy(state_->parameters.data(), parameters.data(), parameters.size_bytes(),
                         cudaMemcpyHostToDevice),
              "copy parameters to the GPU");
}

void CudaSage::enqueue_gradient(const SageBatch& batch, std::uint64_t loss, const cuda::Stream& stream) {
  State& state = *state_;
  if (loss >= state.count_of_losses) {
    throw UsageError("loss number " + std::to_string(loss) + " where there is room for " +
                     std::to_string(state.count_of_losses));
  }
  const cuda::DeviceGuard guard(state.gpu);
  state.blas.use(stream.get());
  state.forward(batch, stream.get());
  LossView view;
  view.scores = state.outputs.back().data();
  view.seeds = batch.sampled->nodes;
  view.labels = batch.labels;
  view.count = batch.nodes_upto.front();
  view.classes = state.shape.classes;
  view.slopes = state.d_output.data();
  view.losses = state.seed_losses.data();
  view.mean = state.losses.data() + loss;
  softmax_loss(view, stream.get());
  state.backward(batch, stream.get());
}

void CudaSage::enqueue_update(double rate, std::span<const float* const> gradients,
                              const cuda::Stream& stream) {
  if (gradients.empty() || gradients.size() > kMostGpus) {
    throw UsageError("an update from " + std::to_string(gradients.size()) + " gradients");
  }
  const cuda::DeviceGuard guard(state_->gpu);
  GradientList list;
  list.count = static_cast<std::uint32_t>(gradients.size());
  std::copy(gradients.begin(), gradients.end(), list.of);
  descend(state_->parameters.data(), state_->shape.parameters(),
          static_cast<float>(rate / static_cast<double>(gradients.size())), list, stream.get());
}

const float* CudaSage::gradient() const {
  return state_->gradient;
}

namespace {

std::vector<float> fetch(int gpu, const float* from, std::uint64_t count) {
  const cuda::DeviceGuard guard(gpu);
  std::vector<float> result(count);
  cuda::check(cudaDeviceSynchronize(), "wait for a training step");
  cuda::check(cudaMemcpy(result.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost),
              "read what training gave");
  return result;
}

}  // namespace

std::vector<float> CudaSage::losses(std::uint64_t count) const {
  return fetch(state_->gpu, state_->losses.data(), std::min(count, state_->count_of_losses));
}

std::vector<float> CudaSage::parameters() const {
  return fetch(state_->gpu, state_->parameters.data(), state_->shape.parameters());
}

std::uint64_t CudaSage::gpu_bytes() const {
  const State& state = *state_;
  std::uint64_t bytes = state.blas.gpu_bytes() + state.parameters.bytes() + state.own_gradient.bytes() +
                        state.losses.bytes() + state.seed_losses.bytes() + state.ones.bytes() +
                        state.d_output.bytes() + state.d_input.bytes() + 3 * state.unsorted.bytes() +
                        state.scratch.bytes();
  for (const DeviceArray<float>& each : state.inputs) {
    bytes += each.bytes();
  }
  for (const DeviceArray<float>& each : state.outputs) {
    bytes += each.bytes();
  }
  return bytes;
}

}  // namespace grainscope::gnn
