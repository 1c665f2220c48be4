#ifndef GRAINSCOPE_SRC_GRAPH_PROGRAM_CUH
#define GRAINSCOPE_SRC_GRAPH_PROGRAM_CUH

// The skeleton of every traversal: levels of count, scan, emit and walk, until no vertex is active. The host
// submits a level while the one before it is walked, and reads back only whether there was one.

#include <cuda_runtime.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "../cuda/launch.cuh"
#include "../cuda/level_times.hpp"
#include "edge_gather.cuh"
#include "frontier.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "traversals.hpp"
#include "walk.cuh"

namespace grainscope::graph {

// The kernels of a program, for one way of walking and one width of neighbours.
template <class Program>
struct LevelKernels {
  void (*count)(GraphView, FrontierArrays, Program);
  void (*emit)(GraphView, FrontierArrays, Program);
  void (*walk)(WalkInput, Program);
  void (*walk_noted)(WalkInput, Program);
  bool together = false;  // blocks of a walk wait for each other: all must be on the GPU at once
  bool by_warps = false;  // warps read lists side by side, not a lane each
  FrontierShape shape = {};

  template <class Policy, class Target>
  static LevelKernels make() {
    constexpr Access kAccess = Policy::kAccess;
    if constexpr (kAccess == Access::edge_gather) {
      return {.count = count_items<Policy, Program>,
              .emit = list_vertices<Program>,
              .walk = gather_edges<Target, Program, Note::nothing>,
              .walk_noted = gather_edges<Target, Program, Note::loads>,
              .together = true};
    } else if constexpr (is_tiled(kAccess)) {
      return {.count = count_items<Policy, Program>,
              .emit = emit_items<Policy, Program>,
              .walk = walk_tiles<Target, Policy, Program, Note::nothing>,
              .walk_noted = walk_tiles<Target, Policy, Program, Note::loads>,
              .by_warps = true,
              .shape = {.tiles = kAccess == Access::merge_path}};
    } else {
      LevelKernels kernels{.count = count_items<Policy, Program>,
                           .emit = emit_items<Policy, Program>,
                           .walk = walk_lists<Target, Policy, Program, Note::nothing>,
                           .walk_noted = walk_lists<Target, Policy, Program, Note::loads>,
                           .by_warps = !Policy::kLaneOwnsItem};
      if constexpr (!Policy::kLaneOwnsItem) {
        kernels.shape.piece = Policy::kPiece;
      }
      return kernels;
    }
  }
  template <class Policy>
  static LevelKernels make(int edge_bytes) {
    return edge_bytes == 4 ? make<Policy, std::uint32_t>() : make<Policy, std::uint64_t>();
  }
  static LevelKernels of(Access access, int edge_bytes) {
    if (access == Access::merged_aligned) {
      return make<MergedAligned>(edge_bytes);
    }
    if (access == Access::edge_gather) {
      return make<EdgeGather>(edge_bytes);
    }
    if constexpr (!Program::kPulls) {
      switch (access) {
        case Access::naive:
          return make<Naive>(edge_bytes);
        case Access::merged:
          return make<Merged>(edge_bytes);
        case Access::merged_aligned_by_16:
          return make<MergedAlignedBy16>(edge_bytes);
        case Access::merged_aligned_by_8:
          return make<MergedAlignedBy8>(edge_bytes);
        case Access::merged_aligned_by_4:
          return make<MergedAlignedBy4>(edge_bytes);
        case Access::merged_aligned_chunked:
          return make<MergedAlignedChunked>(edge_bytes);
        case Access::block_mapped:
          return make<BlockMapped>(edge_bytes);
        case Access::merge_path:
          return make<MergePath>(edge_bytes);
        case Access::merged_aligned:
        case Access::edge_gather:
          break;
      }
    }
    throw UsageError(std::string("no kernels for the access ") + name(access));
  }
};

// What may be looked at between levels. To visit and to trace costs a wait, to count loads does not.
struct LevelObserver {
  const LevelVisitor* visit = nullptr;
  std::vector<std::vector<WarpLoad>>* trace = nullptr;
  BlockLoads* blocks = nullptr;  // [noted_grid()], device, cleared
};

// One GPU's part of a level: which of the vertices whose lists are placed for it are active, and the walk of
// their lists. The GPU is current whenever it is used.
template <class Program>
class LevelWorker {
 public:
  LevelWorker(const PlacedGraph& placed, Access access)
      : placed_(placed),
        graph_(placed.view()),
        gpu_(placed.request().gpu),
        kernels_(LevelKernels<Program>::of(access, graph_.edge_bytes)),
        frontier_(graph_, gpu_, kernels_.shape),
        arrays_(frontier_.arrays()),
        small_grid_(static_cast<unsigned>(cuda::sm_count(gpu_)) * 8),
        over_link_(is_over_link(placed.request().placement)),
        from_host_(placed.request().placement == EdgePlacement::mapped),
        walk_grid_(walk_grid()),
        noted_grid_(kernels_.together ? std::min(walk_grid_, full_grid(kernels_.walk_noted)) : walk_grid_) {
    if (kernels_.together) {
      board_.emplace(gpu_, walk_grid_);
    }
  }

  // A level of several GPUs ends by what all of them have left, of which a kernel of each writes the sum.
  void share_level(LevelSummary* total) { arrays_.total = total; }

  void begin() const { placed_.begin(stream_); }
  // Asks the program which vertices are active.
  void count(const Program& program) const {
    cuda::check(cudaMemsetAsync(arrays_.summary, 0, sizeof(LevelSummary), stream_.get()),
                "clear a level's summary");
    kernels_.count<<<small_grid_, kFrontierThreads, 0, stream_.get()>>>(graph_, arrays_, program);
  }
  // From active vertices to work items.
  void emit(const Program& program) const {
    frontier_.scan(stream_.get());
    kernels_.emit<<<small_grid_, kFrontierThreads, 0, stream_.get()>>>(graph_, arrays_, program);
    settle_level<<<1, 1, 0, stream_.get()>>>(arrays_, frontier_.item_count(), program);
    if (kernels_.shape.tiles) {
      find_tiles<<<small_grid_, kFrontierThreads, 0, stream_.get()>>>(frontier_.tiles(),
                                                                      frontier_.item_count());
    }
    cuda::check_launch("the kernels of a frontier");
  }

  void walk(const Program& program, const LevelObserver& observer) {
    WalkInput input{arrays_.items,    frontier_.item_count(), graph_, {}, observer.blocks, {},
                    frontier_.tiles()};
    if (observer.blocks != nullptr) {
      launch(kernels_.walk_noted, noted_grid_, input, program);
      return;
    }
    if (observer.trace == nullptr) {
      launch(kernels_.walk, walk_grid_, input, program);
      return;
    }
    // Every edge has a load of its own at most.
    const cuda::DeviceBuffer loads(gpu_, (graph_.edges + 1) * sizeof(WarpLoad));
    const cuda::DeviceBuffer count(gpu_, sizeof(unsigned long long));
    cuda::check(cudaMemset(count.data(), 0, count.bytes()), "clear a trace");
    input.trace = {static_cast<WarpLoad*>(loads.data()), static_cast<unsigned long long*>(count.data()),
                   graph_.edges};
    launch(kernels_.walk_noted, noted_grid_, input, program);
    stream_.synchronize();
    unsigned long long recorded = 0;
    cuda::check(cudaMemcpy(&recorded, count.data(), sizeof(recorded), cudaMemcpyDefault), "read a trace");
    if (recorded > graph_.edges) {
      throw FailedError("a level made more loads than there are edges");
    }
    auto& level = observer.trace->emplace_back(recorded);
    cuda::check(cudaMemcpy(level.data(), loads.data(), recorded * sizeof(WarpLoad), cudaMemcpyDefault),
                "read a trace");
  }

  // Throws FailedError where blocks that wait for each other gave up.
  void require_complete() const {
    if (board_) {
      board_->check();
    }
  }

  // The level's active vertices, ascending. Waits for the GPU.
  [[nodiscard]] std::vector<Vertex> active() const {
    stream_.synchronize();
    return frontier_.read_active();
  }
  [[nodiscard]] int gpu() const { return gpu_; }
  [[nodiscard]] bool over_link() const { return over_link_; }
  [[nodiscard]] const GraphView& graph() const { return graph_; }
  [[nodiscard]] const LevelSummary* summary() const { return arrays_.summary; }  // device
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }
  [[nodiscard]] unsigned noted_grid() const { return noted_grid_; }  // blocks where loads are noted down
  [[nodiscard]] std::uint64_t gpu_bytes() const { return frontier_.bytes() + (board_ ? board_->bytes() : 0); }

 private:
  void launch(void (*kernel)(WalkInput, Program), unsigned grid, WalkInput input, Program program) {
    if (!board_) {
      kernel<<<grid, kWalkThreads, 0, stream_.get()>>>(input, program);
      cuda::check_launch("a walk of lists");
      return;
    }
    board_->clear(stream_);
    input.gather = board_->view();
    void* arguments[] = {&input, &program};
    cuda::launch_together(reinterpret_cast<const void*>(kernel), grid, kWalkThreads, arguments, stream_);
  }

  // Over the host's link not all that the GPU holds. Lists side by side share sectors, which the second of
  // two warps finds in their multiprocessor's cache if it comes soon after the first; the fewer they are, the
  // less they drift apart. Two blocks are enough to fill a link of PCIe 5.
  [[nodiscard]] unsigned walk_grid() const {
    constexpr unsigned kBlocksOverLink = 2;  // a multiprocessor
    const unsigned full = full_grid(kernels_.walk);
    return from_host_ && kernels_.by_warps
               ? std::min(full, kBlocksOverLink * static_cast<unsigned>(cuda::sm_count(gpu_)))
               : full;
  }
  [[nodiscard]] unsigned full_grid(void (*kernel)(WalkInput, Program)) const {
    return cuda::full_grid(reinterpret_cast<const void*>(kernel), kWalkThreads, gpu_);
  }

  const PlacedGraph& placed_;  // outlives it
  GraphView graph_;
  int gpu_;
  LevelKernels<Program> kernels_;
  FrontierBuffers frontier_;
  FrontierArrays arrays_;
  unsigned small_grid_;
  bool over_link_;
  bool from_host_;
  unsigned walk_grid_;
  unsigned noted_grid_;
  std::optional<GatherBoard> board_;
  cuda::Stream stream_;
};

using cuda::LevelTimes;

// A level's summary on its way to the host, which waits for that alone.
class SummaryReader {
 public:
  SummaryReader() : seen_(sizeof(LevelSummary), cuda::PinnedBuffer::Kind::cached) {}
  void submit(const LevelSummary* from, const cuda::Stream& stream) const {
    cuda::check(cudaMemcpyAsync(seen_.data(), from, sizeof(LevelSummary), cudaMemcpyDefault, stream.get()),
                "read a level's summary");
    summed_.record(stream);
  }
  [[nodiscard]] LevelSummary wait() const {
    summed_.synchronize();
    return *static_cast<const LevelSummary*>(seen_.data());
  }

 private:
  cuda::PinnedBuffer seen_;
  cuda::Event summed_;
};

// One GPU goes level by level.
template <class Program>
class LevelLoop {
 public:
  using Observer = LevelObserver;

  LevelLoop(const PlacedGraph& placed, Access access)
      : guard_(placed.request().gpu), worker_(placed, access) {}

  // Clears state by `start`, then goes level by level; `program.next_level()` is called between two.
  // Returns seconds between two events around everything.
  template <class Start>
  double run(Program program, const Start& start, std::uint64_t most_levels, const Observer& observer = {}) {
    program.over_link = worker_.over_link();
    times_.begin(stream());
    worker_.begin();
    start(stream());
    for (std::uint64_t level = 0;; ++level) {
      LevelTimes::require(level, most_levels);
      const LevelSummary summary = submit_level(program, level, observer);
      if (program.satisfied(summary)) {
        break;
      }
      times_.add(summary.active, summary.edges);
      program.next_level();
    }
    stream().synchronize();
    worker_.require_complete();
    return times_.all_s();
  }

  // Seconds of the walk alone, over the items of one level.
  double time_walk(const Program& program) {
    worker_.count(program);
    worker_.emit(program);
    times_.begin(stream());
    worker_.walk(program, {});
    times_.end(0).record(stream());
    stream().synchronize();
    worker_.require_complete();
    return times_.all_s();
  }

  // Of the last run, with their times.
  [[nodiscard]] std::vector<LevelResult> levels() const { return times_.read(); }
  // Of the last run, in which loads were counted.
  [[nodiscard]] double frontier_s() { return times_.cut_s(); }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return worker_.gpu_bytes(); }
  [[nodiscard]] unsigned noted_grid() const { return worker_.noted_grid(); }
  [[nodiscard]] const cuda::Stream& stream() const { return worker_.stream(); }

 private:
  // Everything of one level is submitted; then the host learns whether it was one, while it is walked.
  LevelSummary submit_level(const Program& program, std::uint64_t level, const Observer& observer) {
    worker_.count(program);
    worker_.emit(program);
    summary_.submit(worker_.summary(), stream());
    if (observer.visit != nullptr) {
      if (const std::vector<Vertex> active = worker_.active(); !active.empty()) {
        (*observer.visit)(active);
      }
    }
    if (observer.blocks != nullptr) {
      times_.cut(level).record(stream());
    }
    worker_.walk(program, observer);
    times_.end(level).record(stream());
    return summary_.wait();
  }

  cuda::DeviceGuard guard_;
  LevelWorker<Program> worker_;
  SummaryReader summary_;
  LevelTimes times_;
};

// What every algorithm's program may leave as it is, and the two halves of a Traversal that all share.

using cuda::DeviceArray;

// The same program over other GPUs' copies of the state.
template <class Program>
struct Others {
  static constexpr int kMost = 15;
  Program of[kMost];
  int count = 0;
};

struct ProgramDefaults {
  static constexpr bool kPulls = false;         // lists are of in-neighbours; by some accesses alone
  static constexpr bool kWeighted = false;      // reads weights
  static constexpr bool kMeasuresRest = false;  // has a rest_of(vertex), taken before activate()
  bool over_link = false;  // lists are read in place over a link; whoever walks them says so
  struct Nothing {};
  // What is taken from a list's vertex before its edges are visited, by all lanes of the team.
  __device__ Nothing open(const WorkItem& /*item*/, Team /*team*/) const { return {}; }
  // What is given back to it afterwards.
  template <class Source>
  __device__ void close(const WorkItem& /*item*/, const Source& /*source*/, Team /*team*/) const {}
  // What one edge's visit left with its lane, for what its list keeps in a block's shared memory: of walks
  // that hand edges out one by one, by edge_gather and in tiles. Lanes of the block do so at once.
  template <class Source>
  __device__ void merge(Source& /*list*/, const Source& /*lane*/) const {}
  // Of state that several GPUs keep a copy of each: how many vertices a thread brings together at once. The
  // program says how, in take(first of them, others): it reads what the others' copies have for vertices
  // whose lists are here, and may write there too; nobody else does meanwhile.
  static constexpr int kSharedAtOnce = 1;
  // Whether all is done, though there are active vertices.
  __host__ __device__ bool satisfied(const LevelSummary& summary) const { return summary.active == 0; }
  void next_level() {}
};

// A vertex's value that other warps lower meanwhile: read once for the whole team, so that all its lanes go
// by the same, and never from this multiprocessor's own cache.
__device__ inline std::uint32_t read_once(const std::uint32_t* value, Team team) {
  if (team == Team::thread) {
    return __ldcg(value);
  }
  std::uint32_t read = 0;
  if (speaks_for(team)) {
    read = __ldcg(value);
  }
  return __shfl_sync(~0U, read, 0, static_cast<int>(team));
}

// Of a graph that is divided among GPUs: the copy of the values that each of the others has, and the vertices
// whose lists it walks.
struct OwnedValues {
  static constexpr int kMost = 15;
  std::uint32_t* of[kMost];  // [V], memory of that GPU
  VertexRange range[kMost];
  int count = 0;
};

// The state of algorithms that lower one number a vertex until nothing falls any more. A vertex is active
// when its value lies below the one with which its list was last walked.
struct Lowering : ProgramDefaults {
  std::uint32_t* values = nullptr;         // [V], device
  std::uint32_t* walked = nullptr;         // [V], device: with which each list was walked, all of it
  const OwnedValues* elsewhere = nullptr;  // device; null: no other GPU walks along

  // What falls while lists are walked is seen at once by who walks the vertex's own list, here or on another
  // GPU: one that waited for the end of the level would walk its list with a value that fell long ago, and
  // again after it (docs/traversal.md has how many edges more).
  __device__ void lower(Vertex vertex, std::uint32_t value) const {
    if (elsewhere == nullptr) {
      atomicMin(values + vertex, value);
      return;
    }
    atomicMin_system(values + vertex, value);
    for (int i = 0; i < elsewhere->count; ++i) {
      if (vertex >= elsewhere->range[i].first && vertex < elsewhere->range[i].last) {
        atomicMin_system(elsewhere->of[i] + vertex, value);
      }
    }
  }

  __device__ bool activate(std::uint32_t vertex, bool mine, int /*lane*/) const {
    if (!mine) {
      return false;
    }
    const std::uint32_t value = values[vertex];
    if (value >= walked[vertex]) {
      return false;
    }
    walked[vertex] = value;
    return true;
  }
  __device__ std::uint32_t open(const WorkItem& item, Team team) const {
    const std::uint32_t value = read_once(values + item.vertex, team);
    // It may have fallen since the level began. Pieces of a list that is cut may disagree on that: then what
    // the level began with stays.
    if (item.whole != 0 && speaks_for(team)) {
      walked[item.vertex] = value;
    }
    return value;
  }
  // The lowest that anybody has, which all have then.
  template <class Program>
  __device__ void take(Vertex vertex, const Others<Program>& others) const {
    const std::uint32_t own = values[vertex];
    std::uint32_t theirs[Others<Program>::kMost];
    std::uint32_t lowest = own;
#pragma unroll
    for (int i = 0; i < Others<Program>::kMost; ++i) {
      theirs[i] = i < others.count ? others.of[i].values[vertex] : own;
      lowest = min(lowest, theirs[i]);
    }
    if (lowest < own) {
      values[vertex] = lowest;
    }
#pragma unroll
    for (int i = 0; i < Others<Program>::kMost; ++i) {
      if (i < others.count && lowest < theirs[i]) {
        others.of[i].values[vertex] = lowest;
      }
    }
  }
};

// Of a grid's blocks.
inline WalkStatistics statistics_of(const std::vector<BlockLoads>& blocks) {
  WalkStatistics all;
  all.blocks = static_cast<int>(blocks.size());
  std::uint64_t most = 0;
  for (const BlockLoads& block : blocks) {
    all.loads += block.loads;
    all.lanes += block.lanes;
    most = std::max<std::uint64_t>(most, block.loads);
  }
  if (all.loads != 0) {
    all.block_imbalance = static_cast<double>(most) * all.blocks / static_cast<double>(all.loads);
  }
  return all;
}

// A Traversal from a program's two particular things: its state, and how that begins. `how`: what the loop
// wants beside the graph.
template <class State, class Loop = LevelLoop<typename State::Program>>
class ProgramTraversal : public Traversal {
 public:
  template <class... How>
  explicit ProgramTraversal(const PlacedGraph& graph, const How&... how)
      : gpu_(graph.request().gpu),
        guard_(gpu_),
        state_(graph),
        loop_(graph, how...),
        vertices_(graph.view().vertices) {}

  double run(Vertex source) override { return start(source, {}); }
  void spoil() override {
    state_.spoil(loop_.stream());
    loop_.stream().synchronize();
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return loop_.levels(); }
  void follow(Vertex source, const LevelVisitor& visit) override { start(source, {&visit, nullptr}); }
  std::vector<std::vector<WarpLoad>> trace(Vertex source) override {
    std::vector<std::vector<WarpLoad>> levels;
    start(source, {nullptr, &levels});
    levels.resize(loop_.levels().size());
    return levels;
  }
  WalkStatistics statistics(Vertex source) override {
    const DeviceArray<BlockLoads> blocks(gpu_, loop_.noted_grid());
    blocks.fill_bytes(0, loop_.stream());
    start(source, {nullptr, nullptr, blocks.data()});
    WalkStatistics statistics = statistics_of(blocks.read(loop_.noted_grid()));
    if constexpr (requires { loop_.frontier_s(); }) {
      statistics.frontier_s = loop_.frontier_s();
    }
    return statistics;
  }
  [[nodiscard]] std::vector<std::uint32_t> answer() const override { return state_.answer(vertices_); }
  [[nodiscard]] std::vector<float> ranks() const override { return state_.ranks(vertices_); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return state_.gpu_bytes() + loop_.gpu_bytes(); }
  [[nodiscard]] const Loop& loop() const { return loop_; }

 private:
  double start(Vertex source, const typename Loop::Observer& observer) {
    require_vertex(source, vertices_);
    return loop_.run(
        state_.program(), [&](const cuda::Stream& stream) { state_.clear(source, stream); },
        State::most_levels(vertices_), observer);
  }

  int gpu_;
  cuda::DeviceGuard guard_;
  State state_;
  Loop loop_;
  Vertex vertices_;
};

}  // namespace grainscope::graph

#endif
