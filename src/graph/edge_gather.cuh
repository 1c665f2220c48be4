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

#include "gather_round.cuh"

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
      : input_(input), memory_(memory), planner_(input, program, memory) {
    planner_.begin();
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

  // Gathers edges and says how many may be popped, perhaps none yet. Returns false once there are no more.
  __device__ bool round() {
    __syncthreads();  // what was handed out has been visited
    if (warp_ == 0) {
      planner_.prepare();
    }
    __syncthreads();
    next_ = 0;
    handed_ = memory_.handed;
    if (memory_.finished != 0) {
      return false;
    }
    if (warp_ == kWarps - 1) {
      planner_.balance();
    }
    gather();
    __syncthreads();
    return true;
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
          memory_.put(loaded[k].slot, loaded[k].neighbour, loaded[k].weight, loaded[k].list);
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

  const WalkInput& input_;
  GatherMemory<Program>& memory_;
  std::uint32_t lane_ = threadIdx.x % kWarpLanes;
  std::uint32_t warp_ = threadIdx.x / kWarpLanes;
  RoundPlanner<Target, Program> planner_;
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
