#ifndef GRAINSCOPE_SRC_GNN_CUDA_MINI_BATCH_HPP
#define GRAINSCOPE_SRC_GNN_CUDA_MINI_BATCH_HPP

#include <algorithm>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"

namespace grainscope::gnn {

// On the current GPU, `gpu`.
class CudaMiniBatch final : public GpuMiniBatch {
 public:
  CudaMiniBatch(const void* owner, int gpu, const MostOf& most)
      : owner_(owner),
        gpu_(gpu),
        hops_(most.edges.size()),
        seeds_(most.nodes.front() * sizeof(graph::Vertex), cuda::PinnedBuffer::Kind::cached),
        nodes_(gpu, most.nodes.back() * sizeof(graph::Vertex)),
        nodes_upto_(gpu, (hops_ + 1) * sizeof(std::uint32_t)) {
    view_ = {as<graph::Vertex>(nodes_), as<std::uint32_t>(nodes_upto_), most.nodes.back(), {}};
    for (std::size_t hop = 0; hop < hops_; ++hop) {
      const std::uint64_t edges = std::max<std::uint64_t>(most.edges[hop], 1);
      layers_.emplace_back(gpu, (most.nodes[hop] + 1) * sizeof(std::uint64_t));
      layers_.emplace_back(gpu, edges * sizeof(std::uint32_t));
      view_.layers.push_back({offsets(hop), sources(hop), most.nodes[hop], edges});
    }
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

  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    std::uint64_t bytes = nodes_.bytes() + nodes_upto_.bytes();
    for (const cuda::DeviceBuffer& buffer : layers_) {
      bytes += buffer.bytes();
    }
    return bytes;
  }

  [[nodiscard]] const void* owner() const { return owner_; }
  [[nodiscard]] std::uint64_t* offsets(std::size_t hop) const { return as<std::uint64_t>(layers_[2 * hop]); }
  [[nodiscard]] std::uint32_t* sources(std::size_t hop) const {
    return as<std::uint32_t>(layers_[2 * hop + 1]);
  }
  [[nodiscard]] graph::Vertex* nodes() const { return as<graph::Vertex>(nodes_); }
  [[nodiscard]] std::uint32_t* upto() const { return as<std::uint32_t>(nodes_upto_); }

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

  template <class T>
  static T* as(const cuda::DeviceBuffer& buffer) {
    return static_cast<T*>(buffer.data());
  }

  const void* owner_;
  int gpu_;
  std::size_t hops_;
  cuda::PinnedBuffer seeds_;
  cuda::DeviceBuffer nodes_;
  cuda::DeviceBuffer nodes_upto_;
  std::vector<cuda::DeviceBuffer> layers_;  // offsets and sources of each
  cuda::Event sent_;
  cuda::Event done_;
  DeviceMiniBatch view_;
};

}  // namespace grainscope::gnn

#endif
