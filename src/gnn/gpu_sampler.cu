// Neighbour sampling on a GPU: what the host enqueues.

#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <climits>
#include <cub/device/device_scan.cuh>

#include "cuda_mini_batch.hpp"
#include "sample_kernels.cuh"

namespace grainscope::gnn {
namespace {

using graph::Vertex;

constexpr int kBlocksPerSm = 8;

// Sums of what `function` says of 0 … i − 1, for each i below `count`. With `scratch` null it only tells the
// size that that must have.
template <class Function, class Sum>
std::size_t sums_before(void* scratch, std::size_t bytes, Function function, Sum* sums, std::uint64_t count,
                        cudaStream_t stream) {
  const auto input = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), function);
  cuda::check(cub::DeviceScan::ExclusiveSum(scratch, bytes, input, sums, static_cast<int>(count), stream),
              "add up sizes on the GPU");
  return bytes;
}

std::uint64_t scratch_bytes(const MostOf& most, std::uint64_t words) {
  const std::uint64_t destinations = most.nodes[most.nodes.size() - 2] + 1;
  if (std::max(destinations, words) > INT_MAX) {
    throw SkipError("a mini-batch of up to " + std::to_string(destinations) +
                    " destinations: sampling on a GPU adds up no more than 2^31 sizes");
  }
  return std::max(
      sums_before(nullptr, 0, SourcesOf{}, static_cast<std::uint64_t*>(nullptr), destinations, {}),
      sums_before(nullptr, 0, BitsOf{}, static_cast<std::uint32_t*>(nullptr), words, {}));
}

// No layer has more edges than the graph.
MostOf most_of_lists(const SampleRequest& request, std::uint64_t seeds, const ListView& lists) {
  require_fanouts(request.fanouts);
  MostOf most = most_of(request.fanouts, seeds, lists.vertices);
  for (std::uint64_t& edges : most.edges) {
    edges = std::min(edges, lists.edges);
  }
  return most;
}

// On the current GPU, which is that of the lists' request.
class CudaSampler final : public GpuSampler {
 public:
  CudaSampler(const ViewedLists& lists, const SampleRequest& request, std::uint64_t most_seeds)
      : lists_(lists.view()),
        request_(request),
        gpu_(lists.request().gpu),
        most_(most_of_lists(request, most_seeds, lists_)),
        words_((std::uint64_t{lists_.vertices} + 31) / 32),
        most_blocks_(cuda::sm_count(gpu_) * kBlocksPerSm),
        bitmaps_(gpu_, 3 * words_ * sizeof(std::uint32_t)),
        index_of_(gpu_, std::uint64_t{lists_.vertices} * sizeof(std::uint32_t)),
        scratch_(gpu_, std::max<std::uint64_t>(scratch_bytes(most_, words_), 1)),
        marked_((std::uint64_t{lists_.vertices} + 63) / 64) {
    auto* const bitmaps = static_cast<std::uint32_t*>(bitmaps_.data());
    state_.seen = bitmaps;
    state_.fresh = bitmaps + words_;
    state_.before = bitmaps + 2 * words_;
    state_.index_of = static_cast<std::uint32_t*>(index_of_.data());
    state_.words = words_;
    cuda::check(cudaMemset(bitmaps, 0, bitmaps_.bytes()), "clear the bitmaps of a sampler");
    cuda::check(cudaDeviceSynchronize(), "clear the bitmaps of a sampler");
  }

  [[nodiscard]] std::unique_ptr<GpuMiniBatch> make_batch() const override {
    const cuda::DeviceGuard guard(gpu_);
    return std::make_unique<CudaMiniBatch>(this, gpu_, most_, nullptr);
  }

  [[nodiscard]] std::unique_ptr<GpuMiniBatch> make_batch_in(std::byte* memory) const override {
    const cuda::DeviceGuard guard(gpu_);
    return std::make_unique<CudaMiniBatch>(this, gpu_, most_, memory);
  }

  void enqueue(std::span<const Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into,
               CUstream_st* stream) override {
    const CudaMiniBatch& memory = mine(into);
    require(seeds);
    const cuda::DeviceGuard guard(gpu_);
    submit(seeds, batch, memory, stream);
  }

  [[nodiscard]] double run(std::span<const Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into) override {
    const CudaMiniBatch& memory = mine(into);
    require(seeds);
    const cuda::DeviceGuard guard(gpu_);
    start_.record(stream_);
    submit(seeds, batch, memory, stream_.get());
    stop_.record(stream_);
    stop_.synchronize();
    return cuda::elapsed_s(start_, stop_);
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return bitmaps_.bytes() + index_of_.bytes() + scratch_.bytes();
  }

 private:
  [[nodiscard]] const CudaMiniBatch& mine(const GpuMiniBatch& batch) const {
    const auto* const memory = dynamic_cast<const CudaMiniBatch*>(&batch);
    if (memory == nullptr || memory->owner() != this) {
      throw UsageError("sampling into a mini-batch of another sampler");
    }
    return *memory;
  }

  void submit(std::span<const Vertex> seeds, std::uint64_t batch, const CudaMiniBatch& memory,
              cudaStream_t stream) {
    cuda::check(cudaStreamWaitEvent(stream, last_.get(), 0), "wait for the sampling before");
    memory.send_seeds(seeds, stream);
    state_.nodes = memory.nodes();
    state_.nodes_upto = memory.upto();
    start_batch<<<blocks_for(seeds.size()), kSampleThreads, 0, stream>>>(
        state_, static_cast<std::uint32_t>(seeds.size()));
    cuda::check_launch("start_batch");
    const int hops = static_cast<int>(request_.fanouts.size());
    for (int hop = 0; hop < hops; ++hop) {
      enqueue_hop(hop, hop_key(request_.seed, batch, static_cast<std::uint64_t>(hop)), memory, stream);
    }
    forget_batch<<<blocks_for(most_.nodes.back()), kSampleThreads, 0, stream>>>(state_, hops);
    cuda::check_launch("forget_batch");
    memory.record_done(stream);
    cuda::check(cudaEventRecord(last_.get(), stream), "record the end of sampling");
  }

  [[nodiscard]] unsigned blocks_for(std::uint64_t threads) const {
    const std::uint64_t blocks = (threads + kSampleThreads - 1) / kSampleThreads;
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>(blocks, 1, static_cast<std::uint64_t>(most_blocks_)));
  }

  // By a bitmap, since sorting the seeds would take longer than sampling them.
  void require(std::span<const Vertex> seeds) {
    if (seeds.size() > most_.nodes.front()) {
      throw UsageError("a mini-batch of " + std::to_string(seeds.size()) + " seeds where there is room for " +
                       std::to_string(most_.nodes.front()));
    }
    bool good = !seeds.empty();
    std::size_t looked_at = 0;
    for (; good && looked_at < seeds.size(); ++looked_at) {
      const Vertex seed = seeds[looked_at];
      good = seed < lists_.vertices && (marked_[seed / 64] >> (seed % 64) & 1) == 0;
      if (good) {
        marked_[seed / 64] |= std::uint64_t{1} << (seed % 64);
      }
    }
    for (std::size_t i = 0; i < looked_at; ++i) {
      if (seeds[i] < lists_.vertices) {
        marked_[seeds[i] / 64] = 0;
      }
    }
    if (!good) {
      require_seeds(seeds, lists_.vertices);
    }
  }

  void enqueue_hop(int hop, std::uint64_t key, const CudaMiniBatch& memory, cudaStream_t stream) const {
    const auto at = static_cast<std::size_t>(hop);
    const auto fanout = static_cast<std::uint32_t>(request_.fanouts[at]);
    std::uint64_t* const offsets = memory.offsets(at);
    std::uint32_t* const sources = memory.sources(at);
    const std::uint64_t most = most_.nodes[at];
    sums_before(scratch_.data(), scratch_.bytes(),
                SourcesOf{lists_.offsets, state_.nodes, state_.nodes_upto + hop, fanout}, offsets, most + 1,
                stream);
    const Draw draw = draw_by(fanout);
    const std::uint64_t groups = kSampleThreads / static_cast<std::uint64_t>(draw.lanes);
    draw.kernel<<<blocks_for(most * static_cast<std::uint64_t>(draw.lanes)), kSampleThreads,
                  groups * fanout * sizeof(std::uint32_t), stream>>>(lists_, state_, offsets, sources, hop,
                                                                     fanout, key);
    cuda::check_launch("draw_sources");
    sums_before(scratch_.data(), scratch_.bytes(), BitsOf{state_.fresh}, state_.before, words_, stream);
    collect_fresh<<<blocks_for(words_), kSampleThreads, 0, stream>>>(state_, hop);
    cuda::check_launch("collect_fresh");
    number_sources<<<blocks_for(most_.edges[at]), kSampleThreads, 0, stream>>>(state_, offsets, sources, hop);
    cuda::check_launch("number_sources");
  }

  // As few lanes take a destination as its fan-out keeps busy.
  struct Draw {
    decltype(&draw_sources<32, false>) kernel;
    int lanes;
  };
  [[nodiscard]] Draw draw_by(std::uint32_t fanout) const {
    const bool interleaved = lists_.parts > 1;
    if (fanout <= 8) {
      return {interleaved ? draw_sources<8, true> : draw_sources<8, false>, 8};
    }
    if (fanout <= 16) {
      return {interleaved ? draw_sources<16, true> : draw_sources<16, false>, 16};
    }
    return {interleaved ? draw_sources<32, true> : draw_sources<32, false>, 32};
  }

  ListView lists_;
  SampleRequest request_;
  int gpu_;
  MostOf most_;
  std::uint64_t words_;
  int most_blocks_;
  SampleState state_;
  cuda::DeviceBuffer bitmaps_;
  cuda::DeviceBuffer index_of_;
  cuda::DeviceBuffer scratch_;
  std::vector<std::uint64_t> marked_;  // bit v: v is among the seeds that are looked at
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  cuda::Event last_;
};

}  // namespace

std::unique_ptr<GpuSampler> make_gpu_sampler(const PlacedLists& lists, const SampleRequest& request,
                                             std::uint64_t most_seeds) {
  const auto* const viewed = dynamic_cast<const ViewedLists*>(&lists);
  if (viewed == nullptr || most_seeds == 0) {
    throw UsageError(
        "sampling on a GPU: the lists are not placed by place_lists, or there is room for no seed");
  }
  const cuda::DeviceGuard guard(lists.request().gpu);
  return std::make_unique<CudaSampler>(*viewed, request, most_seeds);
}

}  // namespace grainscope::gnn
