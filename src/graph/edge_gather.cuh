#ifndef GRAINSCOPE_SRC_GRAPH_EDGE_GATHER_CUH
#define GRAINSCOPE_SRC_GRAPH_EDGE_GATHER_CUH

// The walk of edge_gather (access.hpp): each block gathers what its lists hold into shared memory, round by
// round, and hands edges out one a lane. After GraphPEG (TACO 2021).

#include "../cuda/launch.cuh"
#include "frontier.cuh"
#include "walk.cuh"

namespace grainscope::graph {

// A block's adjacency-list working table (GraphPEG's ALWT) in shared memory, with what is gathered from its
// lists in one round. A list of the table belongs to one lane of the block's first warp.

inline constexpr int kWorkingLists = kWarpLanes;
inline constexpr std::uint32_t kGatherEdges = 1024;  // that a block holds at once

enum class ListStatus : std::uint32_t {
  invalid,         // no list
  fetching_index,  // a vertex, whose list is being looked up
  ready,           // elements [start, end) are to be gathered, and none has been yet
  fetching_edge,   // some have; done once all have been visited
};

struct WorkingList {
  std::uint64_t start;  // of what is yet to be gathered
  std::uint64_t end;
  Vertex vertex;
  ListStatus status;
  std::uint32_t whole;        // 1: [start, end) is all of the vertex's list as long as it is `ready`
  std::uint32_t buffered_to;  // where in the buffer its last gathered edge ends

  [[nodiscard]] __device__ bool valid() const { return status != ListStatus::invalid; }
  [[nodiscard]] __device__ std::uint64_t rest() const { return valid() ? end - start : 0; }
  [[nodiscard]] __device__ WorkItem item() const {
    return {start, 0, static_cast<std::uint32_t>(end - start), vertex, whole};
  }
};

// What is gathered of a list in one round: elements [from, to), in steps of a warp from the boundary of 128
// bytes at or before `from`, into the buffer from `slot` on.
struct GatherPiece {
  std::uint64_t first;  // that boundary
  std::uint64_t from;
  std::uint64_t to;
  std::uint32_t slot;
  std::uint32_t steps_end;  // steps of all pieces up to this one
};

// Elements from the boundary at or before `start` to `start`.
__device__ inline std::uint32_t past_boundary(std::uint64_t start, int element_bytes) {
  return static_cast<std::uint32_t>(start - MergedAligned::start(start, element_bytes));
}

// Of the first `take` elements from `start`, those that end with a full step: how many.
__device__ inline std::uint32_t cut_to_steps(std::uint64_t start, std::uint64_t take, int element_bytes) {
  const std::uint32_t past = past_boundary(start, element_bytes);
  const auto reach = static_cast<std::uint32_t>(take + past) / kWarpLanes * kWarpLanes;
  return reach > past ? reach - past : 0;
}

// How many elements of each lane's list come into a round with room for `room`: lists in order of lanes, as
// far as there is room; one that does not fit is cut after a full step. `before`: of the lists below.
__device__ inline std::uint32_t share_of_room(const WorkingList& list, std::uint32_t room, int element_bytes,
                                              int lane, std::uint32_t& before) {
  const std::uint64_t rest = list.rest();
  const auto wanted = static_cast<std::uint32_t>(rest < room ? rest : room);
  before = cuda::sum_up_to_lane(wanted, lane) - wanted;
  if (before >= room || wanted == 0) {
    return 0;
  }
  const std::uint32_t take = wanted < room - before ? wanted : room - before;
  return take < rest ? cut_to_steps(list.start, take, element_bytes) : take;
}

// Shared memory of a block.
template <class Program>
struct GatherMemory {
  using Source = ListSource<Program>;

  WorkingList lists[kWorkingLists];
  GatherPiece pieces[kWorkingLists];
  std::uint32_t gathered;  // edges in the buffer
  std::uint32_t handed;    // of them, that may be popped in this round
  std::uint32_t pending;   // edges of the table's lists that are yet to be gathered
  std::uint32_t finished;  // 1: there are no edges any more, in no block
  Vertex neighbours[kGatherEdges];
  Weight weights[Program::kWeighted ? kGatherEdges : 1];
  std::uint8_t owners[kGatherEdges];  // whose edge it is: the list's place in the table
  // What the program took from each list's vertex when its first edges were gathered.
  alignas(alignof(Source)) unsigned char sources[kWorkingLists][sizeof(Source)];

  __device__ void put(std::uint32_t slot, Vertex neighbour, Weight weight, std::uint8_t list) {
    neighbours[slot] = neighbour;
    owners[slot] = list;
    if constexpr (Program::kWeighted) {
      weights[slot] = weight;
    }
  }
  __device__ Source& source(std::uint32_t list) { return *reinterpret_cast<Source*>(sources[list]); }
};

// How gathering blocks even out their work and learn that there is none left (GraphPEG's exchange unit and
// control processor). Every member is called by all lanes of a warp, each with its list of the block's table.

inline constexpr std::uint32_t kImbalancedBy = 512;  // edges; the paper's

class BlockExchange {
 public:
  __device__ BlockExchange(const GatherView& board, int element_bytes)
      : board_(board), element_bytes_(element_bytes) {}

  // What another block gave, if anything, becomes the list of the first lane that has none.
  __device__ void receive(WorkingList& mine) const {
    const unsigned empty = __ballot_sync(~0U, !mine.valid());
    if (static_cast<int>(lane_) != __ffs(static_cast<int>(empty)) - 1) {
      return;
    }
    BlockPost& post = own_post();
    const OfDevice<PostState> state(post.state);
    if (state.load(::cuda::memory_order_acquire) == PostState::full) {
      mine = {post.start, post.end, post.vertex, ListStatus::ready, 0, 0};
      state.store(PostState::empty, ::cuda::memory_order_release);
    }
  }

  // Of a block without lists: until another gives it one. Returns false, to all, once every list of `count`
  // is done, or where blocks gave up.
  __device__ bool wait(std::uint64_t count) const {
    const unsigned given = lane_ == 0 && wait_alone(count) ? 1 : 0;
    return __shfl_sync(~0U, given, 0) != 0;
  }

  // Tells how many edges are pending here, and gives half of the largest list away where another block has
  // 512 less. An interval is one call.
  __device__ void balance(WorkingList& mine, std::uint32_t pending) {
    if (lane_ == 0) {
      OfDevice<std::uint32_t>(own_post().pending).store(pending, ::cuda::memory_order_relaxed);
    }
    ++intervals_;
    if (pending <= kImbalancedBy) {
      return;
    }
    const std::uint32_t other = asked();
    const std::uint32_t theirs = pending_of(other);
    const std::uint32_t least = __reduce_min_sync(~0U, theirs);
    if (least >= pending - kImbalancedBy) {
      return;
    }
    const int receiver = __ffs(static_cast<int>(__ballot_sync(~0U, theirs == least))) - 1;
    BlockPost& post = board_.posts[__shfl_sync(~0U, other, receiver)];
    const auto rest = static_cast<std::uint32_t>(mine.rest());
    const std::uint32_t most = __reduce_max_sync(~0U, rest);
    if (static_cast<int>(lane_) == __ffs(static_cast<int>(__ballot_sync(~0U, rest == most))) - 1) {
      give(mine, post);
    }
  }

 private:
  static constexpr unsigned kNapNs = 200;

  [[nodiscard]] __device__ BlockPost& own_post() const { return board_.posts[blockIdx.x]; }

  __device__ bool wait_alone(std::uint64_t count) const {
    OfDevice<std::uint32_t>(own_post().pending).store(0, ::cuda::memory_order_relaxed);
    const OfDevice<PostState> state(own_post().state);
    const OfDevice<unsigned long long> surplus(*board_.surplus);
    const OfDevice<std::uint32_t> timed_out(*board_.timed_out);
    unsigned long long seen = surplus.load(::cuda::memory_order_relaxed);
    std::uint64_t since = cuda::global_timer_ns();
    while (state.load(::cuda::memory_order_acquire) != PostState::full) {
      const unsigned long long now = surplus.load(::cuda::memory_order_relaxed);
      if (now + count == 0 || timed_out.load(::cuda::memory_order_relaxed) != 0) {
        return false;
      }
      if (now != seen) {
        seen = now;
        since = cuda::global_timer_ns();
      } else if (cuda::global_timer_ns() - since > board_.patience_ns) {
        timed_out.store(1, ::cuda::memory_order_relaxed);
        return false;
      }
      __nanosleep(kNapNs);
    }
    return true;
  }

  // The block that this lane asks in this interval: 32 others in turn.
  [[nodiscard]] __device__ std::uint32_t asked() const {
    return (blockIdx.x + 1 + intervals_ * kWarpLanes + lane_) % gridDim.x;
  }
  // UINT32_MAX where it cannot be given anything now.
  [[nodiscard]] __device__ std::uint32_t pending_of(std::uint32_t block) const {
    BlockPost& post = board_.posts[block];
    const bool free = OfDevice<PostState>(post.state).load(::cuda::memory_order_relaxed) == PostState::empty;
    return free && block != blockIdx.x
               ? OfDevice<std::uint32_t>(post.pending).load(::cuda::memory_order_relaxed)
               : UINT32_MAX;
  }

  // By one lane: the second half of its list, from the end of a step on.
  __device__ void give(WorkingList& mine, BlockPost& post) const {
    const std::uint32_t keep = cut_to_steps(mine.start, mine.rest() / 2, element_bytes_);
    const OfDevice<PostState> state(post.state);
    PostState expected = PostState::empty;
    if (keep == 0 ||
        !state.compare_exchange_strong(expected, PostState::claimed, ::cuda::memory_order_acquire,
                                       ::cuda::memory_order_relaxed)) {
      return;
    }
    // Before anybody can be done with it: as long as this block has its half, nobody takes all for done.
    OfDevice<unsigned long long>(*board_.surplus).fetch_add(1, ::cuda::memory_order_relaxed);
    post.vertex = mine.vertex;
    post.start = mine.start + keep;
    post.end = mine.end;
    state.store(PostState::full, ::cuda::memory_order_release);
    mine.end = mine.start + keep;
    mine.whole = 0;
  }

  const GatherView& board_;
  int element_bytes_;
  std::uint32_t lane_ = threadIdx.x % kWarpLanes;
  std::uint32_t intervals_ = 0;
};

// What a block does to its table of lists between two hand-outs of edges.

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
    if (kNote == Note::loads && input_.blocks != nullptr) {
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
    if (kNote == Note::loads && input_.trace.loads != nullptr) {
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
