// Direction-optimising bfs: all levels in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <optional>
#include <string>

#include "../cuda/global_timer.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/answers.hpp"
#include "search_kernels.cuh"
#include "state.hpp"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

// Deeper than that a search is not followed: a graph of such depth has no use for a GPU.
constexpr std::uint32_t kMostLevels = 1 << 16;

__device__ void clear_state(const SearchArrays& a, Vertex vertices, Vertex source) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kSearchThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kSearchThreads;
  for (std::uint64_t word = first; word < a.words; word += threads) {
    const std::uint32_t bit = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
    a.seen[word] = bit;
    a.front[word] = bit;
    a.next[word] = 0;
  }
  for (std::uint64_t vertex = first; vertex < vertices; vertex += threads) {
    a.depths[vertex] = vertex == source ? 0 : graph::kUnreached;
  }
  if (first < 2) {
    a.counters[first] = {};
  }
  if (first == 0) {
    *a.begun_ns = cuda::global_timer_ns();
    *a.levels = 0;
  }
}

template <bool kCount>
__global__ void __launch_bounds__(kSearchThreads)
    search_levels(PlacedView lists, SearchArrays a, Vertex source, Turning turning) {
  const cg::grid_group grid = cg::this_grid();
  clear_state(a, lists.vertices, source);
  std::uint64_t active = 1;
  std::uint64_t edges = lists.out.offsets[source + std::uint64_t{1}] - lists.out.offsets[source];
  std::uint64_t unexplored = lists.edges - edges;
  bool pull = false;
  grid.sync();
  for (std::uint32_t level = 0; level < a.most_levels; ++level) {
    LevelCounters& counters = a.counters[level % 2];
    ReadNote* const note = kCount ? a.reads + level : nullptr;
    if (pull) {
      pull_beginnings<kCount>(lists.in, a, counters, note);
    } else {
      push_lists<kCount>(lists.out, a, counters, note);
    }
    grid.sync();
    if (pull) {
      pull_rest<kCount>(lists.in, a, __ldcg(&counters.left), note);
    } else {
      push_pieces<kCount>(lists.out, a, __ldcg(&counters.pieces), note);
    }
    grid.sync();
    settle(lists.out, a, level + 1, counters);
    if (grid.thread_rank() == 0) {
      a.counters[(level + 1) % 2] = {};
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
      a.notes[level] = {active, edges, cuda::global_timer_ns(), pull ? 1ULL : 0ULL};
    }
    const std::uint64_t before = active;
    active = __ldcg(&counters.active);
    edges = __ldcg(&counters.edges);
    if (active == 0) {
      if (grid.thread_rank() == 0) {
        *a.levels = level + 1;
      }
      return;
    }
    unexplored -= edges;
    pull = pull ? !turning.to_push(active, before, lists.vertices) : turning.to_pull(edges, unexplored);
  }
}

__global__ void mark_listed(ListsView lists, Vertex vertices, std::uint32_t* listed) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t all = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  for (std::uint64_t v = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; v < all; v += threads) {
    const bool has_list = v < vertices && lists.offsets[v] < lists.offsets[v + 1];
    const unsigned bits = __ballot_sync(kAllLanes, has_list);
    if (threadIdx.x % kWarpLanes == 0) {
      listed[v / kWarpLanes] = bits;
    }
  }
}

class CudaLeanBfs final : public LeanBfs {
 public:
  CudaLeanBfs(const LeanLists& lists, const Turning& turning)
      : lists_(view_of(lists)),
        turning_(turning),
        gpu_(lists.gpu()),
        guard_(gpu_),
        words_((lists_.vertices + kWarpLanes - 1) / kWarpLanes),
        most_levels_(std::min<std::uint64_t>(std::uint64_t{lists_.vertices} + 1, kMostLevels)),
        bits_(gpu_, std::uint64_t{4} * words_),
        depths_(gpu_, lists_.vertices),
        left_(gpu_, lists_.vertices),
        pieces_(gpu_, lists_.most_pieces),
        counters_(gpu_, 2),
        notes_(gpu_, most_levels_),
        begun_(gpu_, 1),
        levels_(gpu_, 1) {
    require_together(gpu_);
    constexpr unsigned kBlocks = 512;
    mark_listed<<<kBlocks, kSearchThreads, 0, stream_.get()>>>(lists_.in, lists_.vertices, arrays().listed);
    cuda::check_launch("mark_listed");
    stream_.synchronize();
  }

  double run(Vertex source) override {
    launch(search_levels<false>, source, nullptr);
    return cuda::elapsed_s(start_, stop_);
  }

  std::vector<LinkReads> count(Vertex source) override {
    const DeviceValues<ReadNote> reads(gpu_, most_levels_);
    cuda::check(cudaMemset(reads.get(), 0, reads.bytes()), "clear what is counted");
    launch(search_levels<true>, source, reads.get());
    std::vector<LinkReads> levels;
    for (const ReadNote& note : reads.read(last_.size())) {
      levels.push_back({note.sectors, note.elements, note.hot});
    }
    return levels;
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return levels_of(last_, begun_ns_); }
  [[nodiscard]] std::vector<bool> pulled() const override {
    std::vector<bool> pulled;
    for (const LevelNote& note : last_) {
      pulled.push_back(note.pull != 0);
    }
    return pulled;
  }
  [[nodiscard]] std::vector<std::uint32_t> depths() const override { return depths_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return bits_.bytes() + depths_.bytes() + left_.bytes() + pieces_.bytes() + counters_.bytes() +
           notes_.bytes();
  }

 private:
  using Kernel = void (*)(PlacedView, SearchArrays, Vertex, Turning);

  [[nodiscard]] SearchArrays arrays() const {
    SearchArrays a{};
    a.seen = bits_.get();
    a.front = a.seen + words_;
    a.next = a.front + words_;
    a.listed = a.next + words_;
    a.depths = depths_.get();
    a.left = left_.get();
    a.pieces = pieces_.get();
    a.counters = counters_.get();
    a.notes = notes_.get();
    a.begun_ns = begun_.get();
    a.levels = levels_.get();
    a.words = words_;
    a.most_levels = most_levels_;
    return a;
  }

  void launch(Kernel kernel, Vertex source, ReadNote* reads) {
    require_vertex(source, lists_.vertices);
    SearchArrays a = arrays();
    a.reads = reads;
    void* arguments[] = {&lists_, &a, &source, &turning_};
    start_.record(stream_);
    launch_together(reinterpret_cast<const void*>(kernel), kSearchThreads, gpu_, arguments, stream_);
    stop_.record(stream_);
    stream_.synchronize();
    const std::uint32_t levels = levels_.read(1).front();
    if (levels == 0) {
      throw FailedError("a search went deeper than " + std::to_string(most_levels_) + " levels");
    }
    last_ = notes_.read(levels);
    begun_ns_ = begun_.read(1).front();
  }

  PlacedView lists_;
  Turning turning_;
  int gpu_;
  cuda::DeviceGuard guard_;
  std::uint32_t words_;
  std::uint32_t most_levels_;
  DeviceValues<std::uint32_t> bits_;
  DeviceValues<std::uint32_t> depths_;
  DeviceValues<std::uint32_t> left_;
  DeviceValues<PieceItem> pieces_;
  DeviceValues<LevelCounters> counters_;
  DeviceValues<LevelNote> notes_;
  DeviceValues<std::uint64_t> begun_;
  DeviceValues<std::uint32_t> levels_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  std::vector<LevelNote> last_;
  std::uint64_t begun_ns_ = 0;
};

}  // namespace

std::unique_ptr<LeanBfs> make_lean_bfs(const LeanLists& lists, const Turning& turning) {
  if (view_of(lists).weighted) {
    throw UsageError("a search is over lists that are placed without weights");
  }
  return std::make_unique<CudaLeanBfs>(lists, turning);
}

}  // namespace grainscope::lean
