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

// A level's reads, in two phases: lists or their beginnings, then what these left.
template <Coding kCoding, bool kCount>
__device__ void read_level(const cg::grid_group& grid, const PlacedView& lists, const SearchArrays& a,
                           bool pull, LevelCounters& counters, ReadNote* note) {
  if (pull) {
    pull_beginnings<kCoding, kCount>(lists.in, a, counters, note);
    grid.sync();
    pull_rest<kCoding, kCount>(lists.in, a, __ldcg(&counters.left), note);
    return;
  }
  Reach reach{a};
  visit_lists<kCoding, kCount>(
      lists.out, {0, a.words}, [&](std::uint32_t word) { return a.front[word]; },
      {a.pieces, &counters.pieces}, note, reach);
  grid.sync();
  visit_pieces<kCoding, kCount>(lists.out, a.pieces, __ldcg(&counters.pieces), note, reach);
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    search_levels(PlacedView lists, SearchArrays a, StepBoard board, Vertex source, Turning turning) {
  const cg::grid_group grid = cg::this_grid();
  const bool notes = grid.thread_rank() == 0;
  if (notes) {
    board.begin();
  }
  clear_state(a, lists.vertices, source);
  std::uint64_t active = 1;
  std::uint64_t edges = degree_of(lists.out, source);
  std::uint64_t unexplored = lists.edges - edges;
  bool pull = false;
  grid.sync();
  for (std::uint32_t level = 0; level < board.most; ++level) {
    LevelCounters& counters = a.counters[level % 2];
    read_level<kCoding, kCount>(grid, lists, a, pull, counters, kCount ? board.reads + level : nullptr);
    grid.sync();
    settle(lists.out, a, level + 1, counters);
    if (notes) {
      a.counters[(level + 1) % 2] = {};
    }
    grid.sync();
    if (notes) {
      board.note(level, active, edges, pull);
    }
    const std::uint64_t before = active;
    active = __ldcg(&counters.active);
    edges = __ldcg(&counters.edges);
    if (active == 0) {
      if (notes) {
        *board.steps = level + 1;
      }
      return;
    }
    unexplored -= edges;
    pull = pull ? !turning.to_push(active, before, lists.vertices) : turning.to_pull(edges, unexplored);
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
        run_(lists.gpu(), std::min(lists_.vertices, kMostLevels - 1) + 1, "a search") {
    mark_listed(lists_.in, lists_.vertices, arrays().listed, nullptr, run_.stream());
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
  [[nodiscard]] std::vector<std::uint32_t> depths() const override { return depths_.read(lists_.vertices); }
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
