#ifndef GRAINSCOPE_SRC_GRAPH_GATHER_ROUND_CUH
#define GRAINSCOPE_SRC_GRAPH_GATHER_ROUND_CUH

// What a block does to its table of lists between two hand-outs of edges.

#include "gather_exchange.cuh"

namespace grainscope::graph {

template <class Target, class Program>
class RoundPlanner {
 public:
  __device__ RoundPlanner(const WalkInput& input, Program& program, GatherMemory<Program>& memory)
      : input_(input),
        program_(program),
        memory_(memory),
        count_(*input.count),
        vertices_(input.items, count_, input.gather.popped),
        exchange_(input.gather, static_cast<int>(sizeof(Target))),
        popped_at_once_(vertices_at_once(count_)) {}

  // By all threads, before the first round.
  __device__ void begin() {
    if (threadIdx.x < kWorkingLists) {
      memory_.lists[threadIdx.x] = {};
    }
    if (threadIdx.x == 0) {
      memory_.gathered = 0;
      memory_.handed = 0;
    }
  }

  // By the first warp: what the next round gathers, and how many edges it hands out.
  __device__ void prepare() {
    close_visited();
    const std::uint32_t kept = keep_rest();
    refill();
    if (__ballot_sync(~0U, list().valid()) == 0) {
      // Without lists no edges are kept either.
      if (!exchange_.wait(count_)) {
        finish();
        return;
      }
      exchange_.receive(list());
    }
    plan(kept);
  }

  // By one warp, while edges are gathered.
  __device__ void balance() { exchange_.balance(list(), memory_.pending); }

 private:
  // A quarter of a block's share of a short list, so that every block gets some.
  __device__ static int vertices_at_once(std::uint64_t count) {
    const std::uint64_t share = count / (std::uint64_t{4} * gridDim.x) + 1;
    return static_cast<int>(share < kWorkingLists ? share : kWorkingLists);
  }

  __device__ void finish() {
    if (lane_ == 0) {
      memory_.handed = 0;
      memory_.finished = 1;
    }
  }

  // Lists all of whose edges have been visited leave the table.
  __device__ void close_visited() {
    WorkingList& mine = list();
    const std::uint32_t handed = memory_.handed;
    const bool done =
        mine.status == ListStatus::fetching_edge && mine.start == mine.end && mine.buffered_to <= handed;
    if (done) {
      program_.close(mine.item(), memory_.source(lane_), Team::thread);
      mine.status = ListStatus::invalid;
    }
    mine.buffered_to -= mine.buffered_to < handed ? mine.buffered_to : handed;
    const auto closed = static_cast<unsigned long long>(__popc(__ballot_sync(~0U, done)));
    if (closed != 0 && lane_ == 0) {
      OfDevice<unsigned long long>(*input_.gather.surplus).fetch_sub(closed, ::cuda::memory_order_relaxed);
    }
  }

  // Edges that were not handed out, fewer than a warp's worth, move to the front. Returns how many.
  __device__ std::uint32_t keep_rest() {
    const std::uint32_t kept = memory_.gathered - memory_.handed;
    const std::uint32_t from = memory_.handed + lane_;
    const bool moves = lane_ < kept;
    const Vertex neighbour = moves ? memory_.neighbours[from] : 0;
    const Weight weight = moves && Program::kWeighted ? memory_.weights[from] : 0;
    const std::uint8_t owner = moves ? memory_.owners[from] : 0;
    __syncwarp();
    if (moves) {
      memory_.put(lane_, neighbour, weight, owner);
    }
    return kept;
  }

  // Lists for empty places, unless those of the table fill a round: one that another block gave, then
  // vertices of the list.
  __device__ void refill() {
    if (cuda::sum_of_warp(list().rest()) >= kGatherEdges) {
      return;
    }
    exchange_.receive(list());
    WorkingList& mine = list();
    const unsigned empty = __ballot_sync(~0U, !mine.valid());
    const bool wants = !mine.valid() && cuda::lanes_before(empty, static_cast<int>(lane_)) < popped_at_once_;
    Vertex vertex = 0;
    if (vertices_.pop_vertex(wants, vertex)) {
      mine.status = ListStatus::fetching_index;
      mine.vertex = vertex;
      mine.start = input_.graph.offsets[vertex];
      mine.end = input_.graph.offsets[vertex + std::uint64_t{1}];
      mine.whole = 1;
      mine.buffered_to = 0;
      mine.status = ListStatus::ready;
    }
  }

  // Decides what of each list is gathered in this round, after the `kept` edges, and opens those that begin.
  __device__ void plan(std::uint32_t kept) {
    WorkingList& mine = list();
    const int bytes = static_cast<int>(sizeof(Target));
    std::uint32_t before = 0;
    const std::uint32_t take =
        share_of_room(mine, kGatherEdges - kept, bytes, static_cast<int>(lane_), before);
    const std::uint32_t past = past_boundary(mine.start, bytes);
    const std::uint32_t steps = take == 0 ? 0 : (take + past + kWarpLanes - 1) / kWarpLanes;
    const std::uint32_t slot = kept + before;
    memory_.pieces[lane_] = {mine.start - past, mine.start, mine.start + take, slot,
                             cuda::sum_up_to_lane(steps, static_cast<int>(lane_))};
    if (take != 0) {
      if (mine.status == ListStatus::ready) {
        memory_.source(lane_) = program_.open(mine.item(), Team::thread);
        mine.status = ListStatus::fetching_edge;
      }
      mine.start += take;
      mine.buffered_to = slot + take;
    }
    const auto gathered = kept + static_cast<std::uint32_t>(cuda::sum_of_warp(std::uint64_t{take}));
    const std::uint64_t pending = cuda::sum_of_warp(mine.rest());
    __syncwarp();
    if (lane_ == 0) {
      const bool all = pending == 0 && vertices_.exhausted();
      memory_.gathered = gathered;
      memory_.handed = all ? gathered : gathered / kWarpLanes * kWarpLanes;
      memory_.pending = static_cast<std::uint32_t>(pending < UINT32_MAX ? pending : UINT32_MAX);
      memory_.finished = 0;
    }
  }

  __device__ WorkingList& list() { return memory_.lists[lane_]; }

  const WalkInput& input_;
  Program& program_;
  GatherMemory<Program>& memory_;
  std::uint32_t lane_ = threadIdx.x % kWarpLanes;
  std::uint64_t count_;
  SharedVertexList vertices_;
  BlockExchange exchange_;
  int popped_at_once_;
};

}  // namespace grainscope::graph

#endif
