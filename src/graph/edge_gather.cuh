#ifndef GRAINSCOPE_SRC_GRAPH_EDGE_GATHER_CUH
#define GRAINSCOPE_SRC_GRAPH_EDGE_GATHER_CUH

// GraphPEG's programming interface (TACO 2021) emulated in software: pop_edge() hands every thread of a block
// one edge, whosever list it is from. There a unit of each multiprocessor gathers edges; here the block does
// so itself, between two hand-outs.
//
// A round: lists whose edges have all been visited leave the block's table, vertices are popped into it,
// their edges gathered into shared memory by steps of merged_aligned, and as many handed out as fill whole
// warps, or all where nothing more is to be gathered. Between blocks, as there: who has more than 512 edges
// pending than another gives it part of its largest list, one list an interval. Ours where the paper does not
// say: half of what is left of that list, an interval is a round of the giver, who asks 32 others at a time;
// and a block pops no further vertices while those in its table fill a round.
//
// Blocks wait for each other, so all must run at once (cooperative launch). A block that has lists never
// waits. One that has none leaves when no list is open anywhere, or, by its clock, when none gets done.

#include "gather_exchange.cuh"
#include "vertex_list.cuh"

namespace grainscope::graph {

// An edge as pop_edge hands it out; `there` only where the thread got one.
struct GatheredEdge {
  bool there = false;
  std::uint32_t list = 0;  // its place in the table
  Vertex neighbour = 0;
  Weight weight = 0;
};

template <class Target, class Program, Note kNote>
class EdgeGatherer {
 public:
  using Source = ListSource<Program>;

  __device__ EdgeGatherer(const WalkInput& input, Program& program, GatherMemory<Program>& memory)
      : input_(input),
        program_(program),
        memory_(memory),
        count_(*input.count),
        vertices_(input.items, count_, input.gather.popped),
        exchange_(input.gather, static_cast<int>(sizeof(Target))),
        popped_at_once_(vertices_at_once(count_)) {
    if (threadIdx.x < kWorkingLists) {
      memory_.lists[threadIdx.x] = {};
    }
    if (threadIdx.x == 0) {
      memory_.gathered = 0;
      memory_.handed = 0;
    }
  }

  // The next edge of each thread, if there is one for it: the whole block calls. Returns false, to all, once
  // there are no edges any more.
  __device__ bool pop_edge(GatheredEdge& edge) {
    while (next_ >= handed_) {
      if (!round()) {
        return false;
      }
    }
    const std::uint32_t slot = next_ + threadIdx.x;
    next_ += kWalkThreads;
    edge.there = slot < handed_;
    if (edge.there) {
      edge.list = memory_.owners[slot];
      edge.neighbour = memory_.neighbours[slot];
      edge.weight = Program::kWeighted ? memory_.weights[slot] : Weight{0};
    }
    if constexpr (kNote == Note::counts) {
      count_lanes(input_.blocks, __ballot_sync(~0U, edge.there));
    }
    return true;
  }
  // What the list that an edge is from keeps: shared by all that visit its edges.
  __device__ Source& source(const GatheredEdge& edge) { return memory_.source(edge.list); }

 private:
  static constexpr int kWarps = kWalkThreads / kWarpLanes;

  // A quarter of a block's share of a short list, so that every block gets some.
  __device__ static int vertices_at_once(std::uint64_t count) {
    const std::uint64_t share = count / (std::uint64_t{4} * gridDim.x) + 1;
    return static_cast<int>(share < kWorkingLists ? share : kWorkingLists);
  }

  // Gathers edges and says how many may be popped, perhaps none yet. Returns false once there are no more.
  __device__ bool round() {
    __syncthreads();  // what was handed out has been visited
    if (warp_ == 0) {
      prepare();
    }
    __syncthreads();
    next_ = 0;
    handed_ = memory_.handed;
    if (memory_.finished != 0) {
      return false;
    }
    if (warp_ == kWarps - 1) {
      exchange_.balance(list(), memory_.pending);
    }
    gather();
    __syncthreads();
    return true;
  }

  // By the first warp alone, as is all down to plan(): what the round gathers and hands out.
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
      put(lane_, neighbour, weight, owner);
    }
    return kept;
  }

  // Lists for empty places, unless those of the table fill a round: one that another block gave, then
  // vertices of the list.
  __device__ void refill() {
    if (sum_of_warp(list().rest()) >= kGatherEdges) {
      return;
    }
    exchange_.receive(list());
    WorkingList& mine = list();
    const unsigned empty = __ballot_sync(~0U, !mine.valid());
    const bool wants = !mine.valid() && lanes_before(empty, static_cast<int>(lane_)) < popped_at_once_;
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
                             sum_up_to_lane(steps, static_cast<int>(lane_))};
    if (take != 0) {
      if (mine.status == ListStatus::ready) {
        memory_.source(lane_) = program_.open(mine.item(), Team::thread);
        mine.status = ListStatus::fetching_edge;
      }
      mine.start += take;
      mine.buffered_to = slot + take;
    }
    const auto gathered = kept + static_cast<std::uint32_t>(sum_of_warp(std::uint64_t{take}));
    const std::uint64_t pending = sum_of_warp(mine.rest());
    if (lane_ == 0) {
      const bool all = pending == 0 && vertices_.exhausted();
      memory_.gathered = gathered;
      memory_.handed = all ? gathered : gathered / kWarpLanes * kWarpLanes;
      memory_.pending = static_cast<std::uint32_t>(pending < UINT32_MAX ? pending : UINT32_MAX);
      memory_.finished = 0;
    }
  }

  // By all warps: the pieces' elements into the buffer. A few loads of each lane are on their way at once.
  __device__ void gather() {
    constexpr int kBatch = 4;
    const std::uint32_t steps = memory_.pieces[kWorkingLists - 1].steps_end;
    const std::uint32_t steps_end = memory_.pieces[lane_].steps_end;
    for (std::uint32_t step = warp_; step < steps; step += kBatch * kWarps) {
      Loaded loaded[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        loaded[k] = load(step + static_cast<std::uint32_t>(k * kWarps), steps, steps_end);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (loaded[k].there) {
          put(loaded[k].slot, loaded[k].neighbour, loaded[k].weight, loaded[k].list);
        }
      }
    }
  }

  struct Loaded {
    bool there;
    std::uint8_t list;
    std::uint32_t slot;
    Vertex neighbour;
    Weight weight;
  };
  // The lane's element of a step, if it has one. `steps_end`: of the piece of the lane's number.
  __device__ Loaded load(std::uint32_t step, std::uint32_t steps, std::uint32_t steps_end) {
    if (step >= steps) {
      return {};
    }
    const auto list = static_cast<std::uint32_t>(__popc(__ballot_sync(~0U, steps_end <= step)));
    const GatherPiece& piece = memory_.pieces[list];
    const std::uint32_t first_step = list == 0 ? 0 : memory_.pieces[list - 1].steps_end;
    const std::uint64_t element = piece.first + std::uint64_t{step - first_step} * kWarpLanes + lane_;
    const bool there = element >= piece.from && element < piece.to;
    if constexpr (kNote == Note::loads) {
      trace_load(input_.trace, there ? element : kNoElement, memory_.lists[list].vertex);
    }
    Loaded loaded{};
    if (there) {
      loaded = {true, static_cast<std::uint8_t>(list),
                piece.slot + static_cast<std::uint32_t>(element - piece.from),
                static_cast<Vertex>(static_cast<const Target*>(input_.graph.targets)[element]), 0};
      if constexpr (Program::kWeighted) {
        loaded.weight = input_.graph.weights[element];
      }
    }
    return loaded;
  }

  __device__ void put(std::uint32_t slot, Vertex neighbour, Weight weight, std::uint8_t list) {
    memory_.neighbours[slot] = neighbour;
    memory_.owners[slot] = list;
    if constexpr (Program::kWeighted) {
      memory_.weights[slot] = weight;
    }
  }

  __device__ WorkingList& list() {
    return memory_.lists[lane_];
  }

  const WalkInput& input_;
  Program& program_;
  GatherMemory<Program>& memory_;
  std::uint32_t lane_ = threadIdx.x % kWarpLanes;
  std::uint32_t warp_ = threadIdx.x / kWarpLanes;
  std::uint64_t count_;
  SharedVertexList vertices_;
  BlockExchange exchange_;
  int popped_at_once_;
  std::uint32_t next_ = 0;
  std::uint32_t handed_ = 0;
};

// Edge-gathering mode: visits every edge of the lists of the input's vertices. All blocks at once.
template <class Target, class Program, Note kNote>
__global__ void __launch_bounds__(kWalkThreads) gather_edges(WalkInput input, Program program) {
  __shared__ GatherMemory<Program> memory;
  EdgeGatherer<Target, Program, kNote> gatherer(input, program, memory);
  for (GatheredEdge edge; gatherer.pop_edge(edge);) {
    if (edge.there) {
      auto source = gatherer.source(edge);
      program.visit(source, edge.neighbour, edge.weight);
      program.merge(gatherer.source(edge), source);
    }
  }
}

}  // namespace grainscope::graph

#endif
