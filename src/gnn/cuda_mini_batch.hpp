#ifndef GRAINSCOPE_SRC_GNN_CUDA_MINI_BATCH_HPP
#define GRAINSCOPE_SRC_GNN_CUDA_MINI_BATCH_HPP

#include <algorithm>
#include <memory>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {

// On the current GPU, `gpu`.
class CudaMiniBatch final : public GpuMiniBatch {
 public:
  // In `memory` of somebody else, ListsLayout(most).bytes() of the GPU's, or where that is null in its own.
  CudaMiniBatch(const void* owner, int gpu, const MostOf& most, std::byte* memory)
      : owner_(owner),
        gpu_(gpu),
        hops_(most.edges.size()),
        layout_(most),
        seeds_(most.nodes.front() * sizeof(graph::Vertex), cuda::PinnedBuffer::Kind::cached),
        memory_(memory) {
    if (memory == nullptr) {
      own_ = std::make_unique<cuda::DeviceBuffer>(gpu, layout_.bytes());
      memory_ = static_cast<std::byte*>(own_->data());
    }
    view_ = layout_.view(memory_);
  }

  [[nodiscard]] const DeviceMiniBatch& view() const override { return view_; }

  [[nodiscard]] std::vector<std::uint32_t> nodes_upto() const override {
    done_.synchronize();
    std::vector<std::uint32_t> result(hops_ + 1);
    fetch(result, view_.nodes_upto);
    if (!std::is_sorted(result.begin(), result.end()) || result.back() > view_.most_nodes) {
      throw FailedError("wrong result: a mini-batch sampled on GPU " + std::to_string(gpu_) +
                        " says that it has more nodes than there is room for");
    }
    return result;
  }

  [[nodiscard]] MiniBatch copy() const override {
    MiniBatch result;
    result.nodes_upto = nodes_upto();
    result.nodes.resize(result.nodes_upto.back());
    fetch(result.nodes, view_.nodes);
    result.layers.resize(hops_);
    for (std::size_t hop = 0; hop < hops_; ++hop) {
      Layer& layer = result.layers[hop];
      layer.offsets.resize(std::size_t{result.nodes_upto[hop]} + 1);
      fetch(layer.offsets, view_.layers[hop].offsets);
      if (layer.offsets.back() > view_.layers[hop].most_edges) {
        throw FailedError("wrong result: a layer sampled on GPU " + std::to_string(gpu_) +
                          " says that it has more edges than there is room for");
      }
      layer.sources.resize(layer.offsets.back());
      fetch(layer.sources, view_.layers[hop].sources);
      result.sampled_edges += layer.sources.size();
    }
    return result;
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override { return own_ != nullptr ? own_->bytes() : 0; }

  [[nodiscard]] const void* owner() const { return owner_; }
  [[nodiscard]] std::uint64_t* offsets(std::size_t hop) const { return layout_.offsets(memory_, hop); }
  [[nodiscard]] std::uint32_t* sources(std::size_t hop) const { return layout_.sources(memory_, hop); }
  [[nodiscard]] graph::Vertex* nodes() const { return layout_.nodes(memory_); }
  [[nodiscard]] std::uint32_t* upto() const { return layout_.nodes_upto(memory_); }

  // Puts the seeds at the head of the nodes.
  void send_seeds(std::span<const graph::Vertex> seeds, cudaStream_t stream) const {
    sent_.synchronize();
    std::copy(seeds.begin(), seeds.end(), static_cast<graph::Vertex*>(seeds_.data()));
    cuda::check(cudaMemcpyAsync(nodes(), seeds_.data(), seeds.size_bytes(), cudaMemcpyDefault, stream),
                "copy seeds to the GPU");
    cuda::check(cudaEventRecord(sent_.get(), stream), "record that seeds were copied");
  }
  void record_done(cudaStream_t stream) const {
    cuda::check(cudaEventRecord(done_.get(), stream), "record the end of sampling");
  }

 private:
  template <class T>
  static void fetch(std::vector<T>& to, const T* from) {
    cuda::check(cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDefault),
                "copy a sampled mini-batch from the GPU");
  }

  const void* owner_;
  int gpu_;
  std::size_t hops_;
  ListsLayout layout_;
  cuda::PinnedBuffer seeds_;
  std::unique_ptr<cuda::DeviceBuffer> own_;
  std::byte* memory_;
  cuda::Event sent_;
  cuda::Event done_;
  DeviceMiniBatch view_;
};

}  // namespace grainscope::gnn

#endif
