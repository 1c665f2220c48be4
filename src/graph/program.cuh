#ifndef GRAINSCOPE_SRC_GRAPH_PROGRAM_CUH
#define GRAINSCOPE_SRC_GRAPH_PROGRAM_CUH

// What every algorithm's program may leave as it is, and the two halves of a Traversal that all share.

#include "algorithms.hpp"
#include "grainscope/cuda/memory.hpp"
#include "level_loop.cuh"

namespace grainscope::graph {

using cuda::DeviceArray;

struct ProgramDefaults {
  static constexpr bool kWeighted = false;      // reads weights
  static constexpr bool kMeasuresRest = false;  // has a rest_of(vertex), taken before activate()
  bool over_link = false;                       // lists are read from host memory; whoever walks them says so
  struct Nothing {};
  // What is taken from a list's vertex before its edges are visited, by all lanes of the team.
  __device__ Nothing open(const WorkItem& /*item*/, Team /*team*/) const { return {}; }
  // What is given back to it afterwards.
  template <class Source>
  __device__ void close(const WorkItem& /*item*/, const Source& /*source*/, Team /*team*/) const {}
  // What one edge's visit left with its lane, for what its list keeps in a block's shared memory: of walks
  // that hand edges out one by one (edge_gather.cuh). Lanes of the block do so at once.
  template <class Source>
  __device__ void merge(Source& /*list*/, const Source& /*lane*/) const {}
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
  if (threadIdx.x % kWarpLanes == 0) {
    read = __ldcg(value);
  }
  return __shfl_sync(~0U, read, 0);
}

// The state of algorithms that lower one number a vertex until nothing falls any more. A vertex is active
// when its value lies below the one with which its list was last walked.
struct Lowering : ProgramDefaults {
  std::uint32_t* values = nullptr;  // [V], device
  std::uint32_t* walked = nullptr;  // [V], device: with which each list was walked, all of it

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
    if (item.whole != 0 && (team == Team::thread || threadIdx.x % kWarpLanes == 0)) {
      walked[item.vertex] = value;
    }
    return value;
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
// wants beside the graph. `Base`: what it is more than that.
template <class State, class Loop = LevelLoop<typename State::Program>, class Base = WalkingTraversal>
class ProgramTraversal : public Base {
 public:
  template <class... How>
  explicit ProgramTraversal(const PlacedGraph& graph, const How&... how)
      : gpu_(graph.request().gpu),
        guard_(gpu_),
        state_(graph),
        loop_(graph, how...),
        vertices_(graph.view().vertices) {}

  double run(Vertex source) override { return start(source, {}); }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return loop_.levels(); }
  void follow(Vertex source, const LevelVisitor& visit) override { start(source, {&visit, nullptr}); }
  std::vector<std::vector<WarpLoad>> trace(Vertex source) override {
    std::vector<std::vector<WarpLoad>> levels;
    start(source, {nullptr, &levels});
    levels.resize(loop_.levels().size());
    return levels;
  }
  WalkStatistics statistics(Vertex source) override {
    const DeviceArray<BlockLoads> blocks(gpu_, loop_.counted_grid());
    blocks.fill_bytes(0, loop_.stream());
    start(source, {nullptr, nullptr, blocks.data()});
    return statistics_of(blocks.read(loop_.counted_grid()));
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
