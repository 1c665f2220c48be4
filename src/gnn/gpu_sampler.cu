// Neighbour sampling on a GPU. Sizes that sampling decides are read from device memory, so that the host
// enqueues a whole mini-batch without waiting.

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <memory>
#include <optional>
#include <string>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "list_view.hpp"
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

  using GpuMiniBatch::copy;
  void copy(MiniBatch& into) const override {
    into.nodes_upto = nodes_upto();
    into.nodes.resize(into.nodes_upto.back());
    fetch(into.nodes, view_.nodes);
    into.layers.resize(hops_);
    into.sampled_edges = 0;
    for (std::size_t hop = 0; hop < hops_; ++hop) {
      Layer& layer = into.layers[hop];
      layer.offsets.resize(std::size_t{into.nodes_upto[hop]} + 1);
      fetch(layer.offsets, view_.layers[hop].offsets);
      if (layer.offsets.back() > view_.layers[hop].most_edges) {
        throw FailedError("wrong result: a layer sampled on GPU " + std::to_string(gpu_) +
                          " says that it has more edges than there is room for");
      }
      layer.sources.resize(layer.offsets.back());
      fetch(layer.sources, view_.layers[hop].sources);
      into.sampled_edges += layer.sources.size();
    }
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
  // Page-locks what `send` needs, which takes longer than to sample.
  void make_mirror() { mirror_.emplace(layout_.bytes(), cuda::PinnedBuffer::Kind::cached); }
  // All of a mini-batch that was drawn elsewhere.
  void send(const MiniBatch& drawn, cudaStream_t stream) {
    sent_.synchronize();
    auto* const mirror = static_cast<std::byte*>(mirror_->data());
    send(drawn.nodes, layout_.nodes(mirror), nodes(), stream);
    send(drawn.nodes_upto, layout_.nodes_upto(mirror), upto(), stream);
    for (std::size_t hop = 0; hop < hops_; ++hop) {
      send(drawn.layers[hop].offsets, layout_.offsets(mirror, hop), offsets(hop), stream);
      send(drawn.layers[hop].sources, layout_.sources(mirror, hop), sources(hop), stream);
    }
    cuda::check(cudaEventRecord(sent_.get(), stream), "record that a mini-batch was copied");
  }
  void record_done(cudaStream_t stream) const {
    cuda::check(cudaEventRecord(done_.get(), stream), "record the end of sampling");
  }

 private:
  template <class T>
  static void send(const std::vector<T>& from, T* mirror, T* to, cudaStream_t stream) {
    std::copy(from.begin(), from.end(), mirror);
    cuda::check(cudaMemcpyAsync(to, mirror, from.size() * sizeof(T), cudaMemcpyHostToDevice, stream),
                "copy a sampled mini-batch to the GPU");
  }
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
  std::optional<cuda::PinnedBuffer> mirror_;  // of the arrays, where they are drawn on the host
  cuda::Event sent_;
  cuda::Event done_;
  DeviceMiniBatch view_;
};

namespace cg = cooperative_groups;

inline constexpr int kSampleThreads = 256;

// State of a sampler and the nodes of the mini-batch that it works on; all in device memory.
struct SampleState {
  std::uint32_t* seen = nullptr;      // [words] bit v: v is among the nodes
  std::uint32_t* fresh = nullptr;     // [words] bit v: v was met in this hop for the first time
  std::uint32_t* before = nullptr;    // [words] fresh bits before a word
  std::uint32_t* index_of = nullptr;  // [V] of a seen vertex: where it is among the nodes
  std::uint64_t words = 0;
  graph::Vertex* nodes = nullptr;
  std::uint32_t* nodes_upto = nullptr;
};

// Sources of destination i; none behind the last one.
struct SourcesOf {
  const std::uint64_t* offsets;
  const graph::Vertex* nodes;
  const std::uint32_t* destinations;
  std::uint32_t fanout;
  __host__ __device__ std::uint64_t operator()(std::uint64_t i) const {
    if (i >= *destinations) {
      return 0;
    }
    const std::uint64_t degree = offsets[nodes[i] + std::uint64_t{1}] - offsets[nodes[i]];
    return degree < fanout ? degree : fanout;
  }
};

// Bits that are set in a word.
struct BitsOf {
  const std::uint32_t* words;
  __host__ __device__ std::uint32_t operator()(std::uint64_t i) const {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popc(words[i]));
#else
    return static_cast<std::uint32_t>(__builtin_popcount(words[i]));
#endif
  }
};

// The seeds, which stand in `nodes`, are the first nodes.
__global__ void start_batch(SampleState state, std::uint32_t seeds) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < seeds; i += cuda::threads_of_grid()) {
    const graph::Vertex seed = state.nodes[i];
    state.index_of[seed] = static_cast<std::uint32_t>(i);
    atomicOr(&state.seen[seed / 32], 1U << (seed % 32));
  }
  if (cuda::thread_of_grid() == 0) {
    state.nodes_upto[0] = seeds;
  }
}

template <bool kInterleaved>
__device__ graph::Vertex neighbour(const ListView& lists, std::uint64_t entry) {
  if constexpr (kInterleaved) {
    const EntryPlace place = place_of(entry, static_cast<std::uint32_t>(lists.parts));
    return lists.parts_of[place.part][place.entry];
  } else {
    return lists.parts_of[0][entry];
  }
}

// Floyd's method by a group of lanes, all of whom return with places[0 … count) set: as draw_places does it.
// The lanes draw at once; then each place in turn is looked for among those before it.
template <class Tile>
__device__ void draw_places_together(const Tile& tile, std::uint64_t key, std::uint32_t degree,
                                     std::uint32_t count, std::uint32_t* places) {
  for (std::uint32_t i = tile.thread_rank(); i < count; i += tile.size()) {
    places[i] = random_below(key, i, degree - count + i + 1);
  }
  tile.sync();
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t place = places[i];
    bool taken = false;
    for (std::uint32_t j = tile.thread_rank(); j < i; j += tile.size()) {
      taken = taken || places[j] == place;
    }
    if (tile.any(taken)) {
      tile.sync();  // all have read
      if (tile.thread_rank() == 0) {
        places[i] = degree - count + i;
      }
    }
    tile.sync();
  }
}

__device__ inline void mark(const SampleState& state, graph::Vertex vertex) {
  const std::uint32_t word = vertex / 32;
  const std::uint32_t bit = 1U << (vertex % 32);
  const volatile std::uint32_t* const fresh = state.fresh;
  // Most sources were met before: an atomic operation for each would take turns on the hubs.
  if (((state.seen[word] | fresh[word]) & bit) == 0) {
    atomicOr(&state.fresh[word], bit);
  }
}

// Sources of all destinations of a hop, as vertices, and marks what was not seen. kLanes lanes take a
// destination; dynamic shared memory: `fanout` words for each group of lanes.
template <int kLanes, bool kInterleaved>
__global__ void __launch_bounds__(kSampleThreads)
    draw_sources(const __grid_constant__ ListView lists, SampleState state, const std::uint64_t* offsets,
                 std::uint32_t* sources, int hop, std::uint32_t fanout, std::uint64_t key) {
  extern __shared__ std::uint32_t shared_places[];
  const auto tile = cg::tiled_partition<kLanes>(cg::this_thread_block());
  std::uint32_t* const places = shared_places + threadIdx.x / kLanes * fanout;
  const std::uint32_t destinations = state.nodes_upto[hop];
  for (std::uint64_t i = cuda::thread_of_grid() / kLanes; i < destinations;
       i += cuda::threads_of_grid() / kLanes) {
    const graph::Vertex vertex = state.nodes[i];
    const std::uint64_t begin = lists.offsets[vertex];
    const auto degree = static_cast<std::uint32_t>(lists.offsets[vertex + std::uint64_t{1}] - begin);
    const bool draws = degree > fanout;
    if (draws) {
      draw_places_together(tile, vertex_key(key, vertex), degree, fanout, places);
    }
    const std::uint32_t taken = draws ? fanout : degree;
    for (std::uint32_t k = tile.thread_rank(); k < taken; k += tile.size()) {
      const graph::Vertex source = neighbour<kInterleaved>(lists, begin + (draws ? places[k] : k));
      sources[offsets[i] + k] = source;
      mark(state, source);
    }
    tile.sync();  // before the next destination's places
  }
}

// The marked vertices, ascending, become nodes; the marks go. A thread for each word.
__global__ void collect_fresh(SampleState state, int hop) {
  const std::uint32_t base = state.nodes_upto[hop];
  for (std::uint64_t word = cuda::thread_of_grid(); word < state.words; word += cuda::threads_of_grid()) {
    const std::uint32_t marked = state.fresh[word];
    std::uint32_t at = base + state.before[word];
    for (std::uint32_t bits = marked; bits != 0; bits &= bits - 1) {
      const auto vertex = static_cast<graph::Vertex>(word * 32 + (__ffs(static_cast<int>(bits)) - 1));
      state.nodes[at] = vertex;
      state.index_of[vertex] = at++;
    }
    if (marked != 0) {
      state.seen[word] |= marked;
      state.fresh[word] = 0;
    }
    if (word == state.words - 1) {
      state.nodes_upto[hop + 1] = at;
    }
  }
}

// From vertices to indices among the nodes.
__global__ void number_sources(SampleState state, const std::uint64_t* offsets, std::uint32_t* sources,
                               int hop) {
  const std::uint64_t count = offsets[state.nodes_upto[hop]];
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    sources[i] = state.index_of[sources[i]];
  }
}

// Leaves the state as it was before the mini-batch; several threads may clear the same word.
__global__ void forget_batch(SampleState state, int hops) {
  const std::uint32_t count = state.nodes_upto[hops];
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    state.seen[state.nodes[i] / 32] = 0;
  }
}

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
MostOf most_of_lists(const SampleRequest& request, std::uint64_t seeds, Vertex vertices,
                     std::uint64_t all_edges) {
  require_fanouts(request.fanouts);
  MostOf most = most_of(request.fanouts, seeds, vertices);
  for (std::uint64_t& edges : most.edges) {
    edges = std::min(edges, all_edges);
  }
  return most;
}

// The mini-batch's memory, where it was made by `owner`.
CudaMiniBatch& made_by(const void* owner, GpuMiniBatch& batch) {
  auto* const memory = dynamic_cast<CudaMiniBatch*>(&batch);
  if (memory == nullptr || memory->owner() != owner) {
    throw UsageError("sampling into a mini-batch of another sampler");
  }
  return *memory;
}

void require_room(std::span<const Vertex> seeds, const MostOf& most) {
  if (seeds.size() > most.nodes.front()) {
    throw UsageError("a mini-batch of " + std::to_string(seeds.size()) + " seeds where there is room for " +
                     std::to_string(most.nodes.front()));
  }
}

// On the current GPU, which is that of the lists' request.
class CudaSampler final : public GpuSampler {
 public:
  CudaSampler(const ViewedLists& lists, const SampleRequest& request, std::uint64_t most_seeds)
      : lists_(lists.view()),
        request_(request),
        gpu_(lists.request().gpu),
        most_(most_of_lists(request, most_seeds, lists_.vertices, lists_.edges)),
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
    const CudaMiniBatch& memory = made_by(this, into);
    require(seeds);
    const cuda::DeviceGuard guard(gpu_);
    submit(seeds, batch, memory, stream);
  }

  [[nodiscard]] double run(std::span<const Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into) override {
    const CudaMiniBatch& memory = made_by(this, into);
    require(seeds);
    const cuda::DeviceGuard guard(gpu_);
    if (!rig_) {
      rig_.emplace(gpu_, 0, 0, cuda::GatherRig::Word::sum);
    }
    rig_->make_cold(stream_);
    stream_.synchronize();  // nothing is hidden behind it
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
    require_room(seeds, most_);
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
  std::optional<cuda::GatherRig> rig_;  // for its evictor, once a mini-batch is sampled alone
};

// Draws on the CPU and sends what it has drawn.
class SendingSampler final : public GpuSampler {
 public:
  SendingSampler(const graph::Csr& neighbours, int gpu, const SampleRequest& request,
                 std::uint64_t most_seeds)
      : gpu_(gpu),
        most_(most_of_lists(request, most_seeds, neighbours.vertices(), neighbours.edges())),
        sampler_(neighbours, request) {}

  [[nodiscard]] std::unique_ptr<GpuMiniBatch> make_batch() const override { return make_batch_in(nullptr); }
  [[nodiscard]] std::unique_ptr<GpuMiniBatch> make_batch_in(std::byte* memory) const override {
    const cuda::DeviceGuard guard(gpu_);
    auto batch = std::make_unique<CudaMiniBatch>(this, gpu_, most_, memory);
    batch->make_mirror();
    return batch;
  }

  void enqueue(std::span<const Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into,
               CUstream_st* stream) override {
    CudaMiniBatch& memory = made_by(this, into);
    require_room(seeds, most_);
    sampler_.sample(seeds, batch, drawn_);
    const cuda::DeviceGuard guard(gpu_);
    memory.send(drawn_, stream);
    memory.record_done(stream);
  }

  [[nodiscard]] double run(std::span<const Vertex> seeds, std::uint64_t batch, GpuMiniBatch& into) override {
    const cuda::DeviceGuard guard(gpu_);
    start_.record(stream_);
    enqueue(seeds, batch, into, stream_.get());
    stop_.record(stream_);
    stop_.synchronize();
    return cuda::elapsed_s(start_, stop_);
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override { return 0; }

 private:
  int gpu_;
  MostOf most_;
  CpuSampler sampler_;
  MiniBatch drawn_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<GpuSampler> make_sending_sampler(const graph::Csr& neighbours, int gpu,
                                                 const SampleRequest& request, std::uint64_t most_seeds) {
  if (most_seeds == 0) {
    throw UsageError("sampling for a GPU: there is room for no seed");
  }
  const cuda::DeviceGuard guard(gpu);
  return std::make_unique<SendingSampler>(neighbours, gpu, request, most_seeds);
}

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
