// Direction-optimising bfs: all levels in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "listed.cuh"
#include "search_kernels.cuh"
#include "stepped_run.cuh"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

// Deeper than that a search is not followed: a graph of such depth has no use for a GPU.
constexpr std::uint32_t kMostLevels = 1 << 16;

// Blocks of a multiprocessor: a search waits for memory, and the more of it waits at a time the better.
constexpr int kSearchBlocks = 6;

__device__ void clear_state(const SearchArrays& a, Vertex vertices, Vertex source) {
  const std::uint64_t first = cuda::thread_of_grid();
  for (std::uint64_t word = first; word < a.words; word += cuda::threads_of_grid()) {
    const std::uint32_t bit = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
    a.seen[word] = bit;
    a.front[word] = bit;
    a.next[word] = 0;
  }
  for (std::uint64_t vertex = first; vertex < vertices; vertex += cuda::threads_of_grid()) {
    a.depths[vertex] = vertex == source ? 0 : graph::kUnreached;
  }
  if (first < 2) {
    a.counters[first] = {};
  }
}

// What a block knows of the level to come, in its shared memory: one thread's to change.
struct LevelChoice {
  LevelAhead ahead;
  bool pull;

  __device__ __noinline__ void begin(const PlacedView& lists, const SearchArrays& a, Vertex source) {
    ahead = LevelAhead::of_source(degree_of(lists.out, source), degree_of(lists.in, source) > 0,
                                  *a.listed_count, lists.edges);
    pull = false;
  }
  // By what the level before came to.
  __device__ __noinline__ void turn(const LevelCounters& counters, const Turning& turning) {
    ahead.advance(__ldcg(&counters.active), __ldcg(&counters.edges));
    pull = turning.pulls(ahead);
  }
};

// A level's reads, in two phases: lists or their beginnings, then what these left.
template <Coding kCoding, bool kCount>
__device__ void read_level(const cg::grid_group& grid, const PlacedView& lists, const SearchArrays& a,
                           const LevelChoice& choice, LevelCounters& counters, ReadNote* note) {
  if (choice.pull) {
    pull_beginnings<kCoding, kCount>(lists.in, a, counters, note);
    grid.sync();
    pull_rest<kCoding, kCount>(lists.in, a, __ldcg(&counters.left), note);
    return;
  }
  Reach reach{a};
  const HandOut out{a.pieces, &counters.pieces, long_list(choice.ahead.active)};
  visit_lists<kCoding, kCount>(
      lists.out, {0, a.words}, [&](std::uint32_t word) { return a.front[word]; }, out, note, reach);
  grid.sync();
  visit_pieces<kCoding, kCount>(lists.out, out, __ldcg(&counters.pieces), note, reach);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads, kSearchBlocks)
    search_levels(PlacedView lists, SearchArrays a, StepBoard board, Vertex source, Turning turning) {
  __shared__ LevelChoice choice;
  const cg::grid_group grid = cg::this_grid();
  const bool notes = grid.thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  if (threadIdx.x == 0) {
    choice.begin(lists, a, source);
  }
  clear_state(a, lists.vertices, source);
  grid.sync();
  for (std::uint32_t level = 0; level < board.most; ++level) {
    LevelCounters& counters = a.counters[level % 2];
    read_level<kCoding, kCount>(grid, lists, a, choice, counters, kCount ? board.reads + level : nullptr);
    grid.sync();
    settle(lists.out, a, level + 1, counters);
    if (notes) {
      a.counters[(level + 1) % 2] = {};
    }
    grid.sync();
    if (notes) {
      board.note(level, choice.ahead.active, choice.ahead.edges, choice.pull);
    }
    if (threadIdx.x == 0) {
      choice.turn(counters, turning);
    }
    __syncthreads();
    if (choice.ahead.active == 0) {
      if (notes) {
        *board.steps = level + 1;
      }
      return;
    }
  }
}

class CudaLeanBfs final : public LeanBfs {
 public:
  CudaLeanBfs(const LeanLists& lists, const Turning& turning)
      : lists_(view_of(lists)),
        turning_(turning),
        guard_(lists.gpu()),
        words_((lists_.vertices + kWarpLanes - 1) / kWarpLanes),
        bits_(lists.gpu(), std::uint64_t{4} * words_),
        depths_(lists.gpu(), lists_.vertices),
        left_(lists.gpu(), lists_.vertices),
        pieces_(lists.gpu(), lists_.most_pieces),
        counters_(lists.gpu(), 2),
        listed_count_(lists.gpu(), 1),
        run_(lists.gpu(), std::min(lists_.vertices, kMostLevels - 1) + 1, "a search") {
    listed_count_.fill_bytes(0, run_.stream());
    mark_listed(lists_.in, lists_.vertices, arrays().listed, listed_count_.data(), run_.stream());
  }

  double run(Vertex source) override {
    graph::require_vertex(source, lists_.vertices);
    return compressed() ? launch<Coding::compressed, false>(run_.board(), source)
                        : launch<Coding::plain, false>(run_.board(), source);
  }
  std::vector<LinkReads> count(Vertex source) override {
    graph::require_vertex(source, lists_.vertices);
    return run_.count([&](const StepBoard& board) {
      return compressed() ? launch<Coding::compressed, true>(board, source)
                          : launch<Coding::plain, true>(board, source);
    });
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return run_.levels(); }
  [[nodiscard]] std::vector<bool> pulled() const override {
    std::vector<bool> pulled;
    for (const StepNote& note : run_.notes()) {
      pulled.push_back(note.pull != 0);
    }
    return pulled;
  }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return depths_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return bits_.bytes() + depths_.bytes() + left_.bytes() + pieces_.bytes() + counters_.bytes() +
           run_.bytes();
  }

 private:
  [[nodiscard]] bool compressed() const { return lists_.out.coding == Coding::compressed; }

  [[nodiscard]] SearchArrays arrays() const {
    SearchArrays a{};
    a.seen = bits_.data();
    a.front = a.seen + words_;
    a.next = a.front + words_;
    a.listed = a.next + words_;
    a.depths = depths_.data();
    a.left = left_.data();
    a.pieces = pieces_.data();
    a.counters = counters_.data();
    a.listed_count = listed_count_.data();
    a.words = words_;
    return a;
  }

  template <Coding kCoding, bool kCount>
  double launch(const StepBoard& board, Vertex source) {
    return run_.run(search_levels<kCoding, kCount>, lists_, arrays(), board, source, turning_);
  }

  PlacedView lists_;
  Turning turning_;
  cuda::DeviceGuard guard_;
  std::uint32_t words_;
  cuda::DeviceArray<std::uint32_t> bits_;
  cuda::DeviceArray<std::uint32_t> depths_;
  cuda::DeviceArray<std::uint32_t> left_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<LevelCounters> counters_;
  cuda::DeviceArray<unsigned long long> listed_count_;
  SteppedRun run_;
};

}  // namespace

std::unique_ptr<LeanBfs> make_lean_bfs(const LeanLists& lists, const Turning& turning) {
  if (view_of(lists).weighted) {
    throw UsageError("a search is over lists that are placed without weights");
  }
  return std::make_unique<CudaLeanBfs>(lists, turning);
}

}  // namespace grainscope::lean
