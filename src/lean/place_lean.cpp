// Where lean lists lie: page-locked host memory, and the tier in the GPU's own.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "lean_view.hpp"

namespace grainscope::lean {
namespace {

using graph::Csr;
using graph::Vertex;

// Offsets and tier on the GPU, targets on the host: of one direction.
class PlacedDirection {
 public:
  PlacedDirection(const Csr& graph, const HotTier* tier, int gpu)
      : offsets_(gpu, graph.offsets.bytes()),
        targets_(std::max<std::uint64_t>(graph.targets.bytes(), 8), cuda::PinnedBuffer::Kind::cached) {
    copy_to_gpu(offsets_.data(), graph.offsets.data(), graph.offsets.bytes());
    auto* const targets = static_cast<std::uint32_t*>(targets_.data());
#pragma omp parallel for
    for (std::uint64_t i = 0; i < graph.edges(); ++i) {
      targets[i] = graph.targets[i];
    }
    view_.offsets = static_cast<const std::uint64_t*>(offsets_.data());
    view_.targets = static_cast<const std::uint32_t*>(targets_.device_data());
    if (tier != nullptr && tier->elements() > 0) {
      place_tier(graph, *tier, gpu);
    }
  }

  [[nodiscard]] const ListsView& view() const {
    return view_;
  }
  [[nodiscard]] std::uint64_t hot_bytes() const {
    return hot_ ? hot_->bytes() + hot_offsets_->bytes() : 0;
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const {
    return offsets_.bytes() + hot_bytes();
  }

 private:
  static void copy_to_gpu(void* to, const void* from, std::uint64_t bytes) {
    cuda::check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy lists to the GPU");
  }

  void place_tier(const Csr& graph, const HotTier& tier, int gpu) {
    hot_offsets_.emplace(gpu, tier.offsets.bytes());
    copy_to_gpu(hot_offsets_->data(), tier.offsets.data(), tier.offsets.bytes());
    HostArray<std::uint32_t> hot(tier.elements());
#pragma omp parallel for
    for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
      const auto list = graph.neighbours(static_cast<Vertex>(v)).first(tier.of(static_cast<Vertex>(v)));
      std::copy(list.begin(), list.end(), hot.data() + tier.offsets[v]);
    }
    hot_.emplace(gpu, hot.bytes());
    copy_to_gpu(hot_->data(), hot.data(), hot.bytes());
    view_.hot_offsets = static_cast<const std::uint32_t*>(hot_offsets_->data());
    view_.hot = static_cast<const std::uint32_t*>(hot_->data());
  }

  cuda::DeviceBuffer offsets_;
  cuda::PinnedBuffer targets_;
  std::optional<cuda::DeviceBuffer> hot_offsets_;
  std::optional<cuda::DeviceBuffer> hot_;
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
      : gpu_(placement.gpu), guard_(placement.gpu), out_(*placement.graph, placement.tier, placement.gpu) {
    const Csr& graph = *placement.graph;
    if (graph.directed) {
      in_.emplace(*placement.in_edges, placement.in_tier, placement.gpu);
    }
    view_ = {out_.view(), in_ ? in_->view() : out_.view(), graph.vertices(), graph.edges(),
             pieces_of_long_lists(graph, placement.tier)};
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
  if (placement.graph->directed && placement.in_edges == nullptr) {
    throw UsageError("pulling over a directed graph needs its transpose");
  }
  return std::make_unique<CudaLeanLists>(placement);
}

}  // namespace grainscope::lean
