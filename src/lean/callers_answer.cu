// Answers of lean traversals, brought into the order in which the caller numbers vertices.

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/host_array.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/csr.hpp"
#include "grainscope/lean/run.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

constexpr unsigned kThreads = 256;

// Reads are scattered, and writes are not. An answer that is no vertex (kUnreached) stays as it is.
template <bool kIds>
__global__ void __launch_bounds__(kThreads)
    map_answer(const std::uint32_t* answer, const Vertex* new_of_old, const Vertex* old_of_new,
               std::uint32_t* mapped, Vertex vertices) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    std::uint32_t value = answer[new_of_old[v]];
    if constexpr (kIds) {
      value = value < vertices ? old_of_new[value] : value;
    }
    mapped[v] = value;
  }
}

cuda::DeviceArray<Vertex> on_gpu(int gpu, std::span<const Vertex> values) {
  cuda::DeviceArray<Vertex> memory(gpu, values.size());
  cuda::check(cudaMemcpy(memory.data(), values.data(), values.size_bytes(), cudaMemcpyDefault),
              "copy an order of vertices to the GPU");
  return memory;
}

class CudaCallersAnswer final : public CallersAnswer {
 public:
  CudaCallersAnswer(std::unique_ptr<graph::Traversal> traversal, int gpu, const CallersNumbers& numbers,
                    bool parents)
      : traversal_(std::move(traversal)),
        guard_(gpu),
        old_of_new_(numbers.old_of_new.begin(), numbers.old_of_new.end()),
        new_of_old_(graph::inverse_order(old_of_new_)),
        ids_(numbers.ids),
        parents_(parents),
        new_of_old_on_gpu_(on_gpu(gpu, new_of_old_.span())),
        mapped_(gpu, old_of_new_.size()) {
    const auto* const kernel = ids_ ? reinterpret_cast<const void*>(map_answer<true>)
                                    : reinterpret_cast<const void*>(map_answer<false>);
    grid_ = cuda::full_grid(kernel, kThreads, gpu);
    if (ids_) {
      old_of_new_on_gpu_.emplace(on_gpu(gpu, old_of_new_));
    }
  }

  double run(Vertex source) override {
    const double seconds = traversal_->run(source);
    start_.record(stream_);
    submit();
    stop_.record(stream_);
    stream_.synchronize();
    mapping_s_ = cuda::elapsed_s(start_, stop_);
    return seconds + mapping_s_;
  }
  void spoil() override {
    traversal_->spoil();
    mapped_.fill_bytes(graph::kSpoiled, stream_);
    stream_.synchronize();
  }
  [[nodiscard]] double last_mapping_s() const override { return mapping_s_; }

  [[nodiscard]] std::vector<std::uint32_t> answer() const override {
    return parents_ ? traversal_->answer() : read_back();
  }
  [[nodiscard]] std::vector<float> ranks() const override {
    std::vector<float> ranks;
    ranks.reserve(old_of_new_.size());
    for (const std::uint32_t bits : read_back()) {
      ranks.push_back(std::bit_cast<float>(bits));
    }
    return ranks;
  }
  [[nodiscard]] std::vector<Vertex> parents() const override {
    if (!parents_) {
      throw UsageError("the search keeps no parents");
    }
    return read_back();
  }
  [[nodiscard]] const void* answer_on_gpu() const override { return mapped_.data(); }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return traversal_->levels(); }
  [[nodiscard]] std::vector<LinkReads> count(Vertex source) override { return traversal_->count(source); }
  [[nodiscard]] std::vector<bool> pulled() const override { return traversal_->pulled(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return traversal_->gpu_bytes() + new_of_old_on_gpu_.bytes() + mapped_.bytes() +
           (old_of_new_on_gpu_ ? old_of_new_on_gpu_->bytes() : 0);
  }

 private:
  void submit() const {
    const auto* const answer = static_cast<const std::uint32_t*>(traversal_->answer_on_gpu());
    const auto vertices = static_cast<Vertex>(old_of_new_.size());
    if (ids_) {
      map_answer<true><<<grid_, kThreads, 0, stream_.get()>>>(
          answer, new_of_old_on_gpu_.data(), old_of_new_on_gpu_->data(), mapped_.data(), vertices);
    } else {
      map_answer<false><<<grid_, kThreads, 0, stream_.get()>>>(answer, new_of_old_on_gpu_.data(), nullptr,
                                                               mapped_.data(), vertices);
    }
    cuda::check_launch("map_answer");
  }

  // What was brought, under the numbers of the lists again.
  [[nodiscard]] std::vector<std::uint32_t> read_back() const {
    std::vector<std::uint32_t> answer = graph::looked_up(mapped_.read(old_of_new_.size()), old_of_new_);
    return ids_ ? graph::looked_up(new_of_old_.span(), answer) : answer;
  }

  std::unique_ptr<graph::Traversal> traversal_;
  cuda::DeviceGuard guard_;  // undone before the traversal's own
  std::vector<Vertex> old_of_new_;
  HostArray<Vertex> new_of_old_;
  bool ids_;
  bool parents_;
  cuda::DeviceArray<Vertex> new_of_old_on_gpu_;
  std::optional<cuda::DeviceArray<Vertex>> old_of_new_on_gpu_;  // where answers are vertices
  cuda::DeviceArray<std::uint32_t> mapped_;                     // [V], in the caller's order
  unsigned grid_ = 0;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  double mapping_s_ = 0;
};

}  // namespace

std::unique_ptr<CallersAnswer> with_callers_numbers(std::unique_ptr<graph::Traversal> traversal, int gpu,
                                                    const CallersNumbers& numbers, bool parents) {
  return std::make_unique<CudaCallersAnswer>(std::move(traversal), gpu, numbers, parents);
}

}  // namespace grainscope::lean
