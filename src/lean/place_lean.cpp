// Where lean lists lie: page-locked host memory, and the tier in the GPU's own.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "lean_view.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

// Offsets and tier on the GPU, targets on the host: of one direction.
class PlacedDirection {
 public:
  PlacedDirection(const Csr& graph, const HotTier* tier, int gpu, bool weights)
      : packed_(weights && packs_weights(graph)),
        offsets_(gpu, graph.offsets.bytes()),
        targets_(std::max<std::uint64_t>(graph.targets.bytes(), 8), cuda::PinnedBuffer::Kind::cached) {
    copy_to_gpu(offsets_.data(), graph.offsets.data(), graph.offsets.bytes());
    view_.offsets = static_cast<const std::uint64_t*>(offsets_.data());
    view_.targets = static_cast<const std::uint32_t*>(targets_.device_data());
    view_.vertex_bits = packed_ ? vertex_bits(graph) : 32;
    auto* const targets = static_cast<std::uint32_t*>(targets_.data());
#pragma omp parallel for
    for (std::uint64_t i = 0; i < graph.edges(); ++i) {
      targets[i] = packed_ ? graph.targets[i] | graph.weights[i] << view_.vertex_bits : graph.targets[i];
    }
    if (weights && !packed_) {
      weights_.emplace(std::max<std::uint64_t>(graph.weights.bytes(), 8), cuda::PinnedBuffer::Kind::cached);
      auto* const placed = static_cast<std::uint32_t*>(weights_->data());
#pragma omp parallel for
      for (std::uint64_t i = 0; i < graph.edges(); ++i) {
        placed[i] = graph.weights[i];
      }
      view_.weights = static_cast<const std::uint32_t*>(weights_->device_data());
    }
    if (tier != nullptr && tier->elements() > 0) {
      place_tier(graph, *tier, gpu);
    }
  }

  [[nodiscard]] const ListsView& view() const {
    return view_;
  }
  [[nodiscard]] std::uint64_t hot_bytes() const {
    return hot_ ? hot_->bytes() + hot_offsets_->bytes() + (hot_weights_ ? hot_weights_->bytes() : 0) : 0;
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return offsets_.bytes() + hot_bytes();
  }

 private:
  static void copy_to_gpu(void* to, const void* from, std::uint64_t bytes) {
    cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy lists to the GPU");
  }

  // Beginnings of lists, from an array as it is placed.
  static cuda::DeviceBuffer beginnings(const Csr& graph, const HotTier& tier, const void* placed, int gpu) {
    const auto* const elements = static_cast<const std::uint32_t*>(placed);
    HostArray<std::uint32_t> hot(tier.elements());
#pragma omp parallel for
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      std::copy_n(elements + graph.offsets[v], tier.of(static_cast<Vertex>(v)), hot.data() + tier.offsets[v]);
    }
    cuda::DeviceBuffer memory(gpu, hot.bytes());
    copy_to_gpu(memory.data(), hot.data(), hot.bytes());
    return memory;
  }

  void place_tier(const Csr& graph, const HotTier& tier, int gpu) {
    hot_offsets_.emplace(gpu, tier.offsets.bytes());
    copy_to_gpu(hot_offsets_->data(), tier.offsets.data(), tier.offsets.bytes());
    hot_.emplace(beginnings(graph, tier, targets_.data(), gpu));
    view_.hot_offsets = static_cast<const std::uint32_t*>(hot_offsets_->data());
    view_.hot = static_cast<const std::uint32_t*>(hot_->data());
    if (weights_) {
      hot_weights_.emplace(beginnings(graph, tier, weights_->data(), gpu));
      view_.hot_weights = static_cast<const std::uint32_t*>(hot_weights_->data());
    }
  }

  bool packed_;
  cuda::DeviceBuffer offsets_;
  cuda::PinnedBuffer targets_;
  std::optional<cuda::PinnedBuffer> weights_;
  std::optional<cuda::DeviceBuffer> hot_offsets_;
  std::optional<cuda::DeviceBuffer> hot_;
  std::optional<cuda::DeviceBuffer> hot_weights_;
  ListsView view_;
};

std::uint64_t pieces_of_long_lists(const Csr& graph, const HotTier* tier) {
  std::uint64_t pieces = 0;
#pragma omp parallel for reduction(+ : pieces)
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    const std::uint64_t hot = tier != nullptr ? tier->of(static_cast<Vertex>(v)) : 0;
    const std::uint64_t begin = graph.offsets[v] + hot;
    const std::uint64_t end = graph.offsets[v + 1];
    pieces += end - begin > kLongList ? lean::pieces_of(begin, end) : 0;
  }
  return pieces;
}

class CudaLeanLists final : public LeanLists {
 public:
  explicit CudaLeanLists(const LeanPlacement& placement)
      : gpu_(placement.gpu),
        guard_(placement.gpu),
        out_(*placement.graph, placement.tier, placement.gpu, placement.weights) {
    const Csr& graph = *placement.graph;
    if (graph.directed && !placement.weights) {
      in_.emplace(*placement.in_edges, placement.in_tier, placement.gpu, false);
    }
    view_ = {out_.view(),       in_ ? in_->view() : out_.view(),
             graph.vertices(),  graph.edges(),
             placement.weights, pieces_of_long_lists(graph, placement.tier)};
  }

  [[nodiscard]] int gpu() const override { return gpu_; }
  [[nodiscard]] std::uint64_t hot_bytes() const override {
    return out_.hot_bytes() + (in_ ? in_->hot_bytes() : 0);
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return out_.gpu_bytes() + (in_ ? in_->gpu_bytes() : 0);
  }
  [[nodiscard]] const PlacedView& view() const { return view_; }

 private:
  int gpu_;
  cuda::DeviceGuard guard_;
  PlacedDirection out_;
  std::optional<PlacedDirection> in_;
  PlacedView view_;
};

}  // namespace

const PlacedView& view_of(const LeanLists& lists) {
  return dynamic_cast<const CudaLeanLists&>(lists).view();
}

std::unique_ptr<LeanLists> place_lean(const LeanPlacement& placement) {
  if (placement.weights && !placement.graph->weighted() && placement.graph->edges() > 0) {
    throw UsageError("the graph has no weights to place");
  }
  if (placement.graph->directed && placement.in_edges == nullptr && !placement.weights) {
    throw UsageError("pulling over a directed graph needs its transpose");
  }
  return std::make_unique<CudaLeanLists>(placement);
}

}  // namespace grainscope::lean
