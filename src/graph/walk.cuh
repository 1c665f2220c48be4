#ifndef GRAINSCOPE_SRC_GRAPH_WALK_CUH
#define GRAINSCOPE_SRC_GRAPH_WALK_CUH

// How a grid walks work items: one function for lists that a warp walks, one for lists that a thread walks.
// What is done with an edge is the program's: `open` says what it takes from the list's vertex, `visit` what
// it does to a neighbour, `close` what it gives back to the vertex.

#include <algorithm>
#include <cstdint>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/graph/access.hpp"
#include "grainscope/graph/traversal.hpp"

namespace grainscope::graph {

// What the persistent blocks of edge_gather.cuh share in GPU memory: how far the vertex list has been taken,
// whether all lists are done, and a post for each block through which another gives it part of a list. In
// GraphPEG that is the control processor's part.

enum class PostState : std::uint32_t { empty, claimed, full };

// Of one block; a sector of memory. Others read `pending` and `state` at any time; what is given is theirs
// who made `state` claimed, and the block's own once it is full.
struct BlockPost {
  std::uint32_t pending;  // edges that the block's table has yet to gather
  PostState state;
  std::uint32_t vertex;  // whose list, and which part of it, is given
  std::uint32_t unused;
  std::uint64_t start;
  std::uint64_t end;
};

// Addresses in GPU memory, of one level.
struct GatherView {
  unsigned long long* popped = nullptr;  // items of the vertex list that have been taken, or asked for
  // Lists that arose where one was cut, less lists that are done, modulo 2⁶⁴: with the count of items it is 0
  // once no edge is left anywhere.
  unsigned long long* surplus = nullptr;
  std::uint32_t* timed_out = nullptr;  // set by a block that waited in vain: all leave
  BlockPost* posts = nullptr;          // [grid]
  std::uint64_t patience_ns = 0;       // for which a block waits while no list gets done
};

class GatherBoard {
 public:
  GatherBoard(int gpu, unsigned blocks, double patience_s = 10)
      : memory_(gpu, kPosts + blocks * sizeof(BlockPost)),
        timed_out_(gpu, sizeof(std::uint32_t)),
        patience_ns_(static_cast<std::uint64_t>(patience_s * 1e9)) {
    forget();
  }

  // Before each level: nothing taken, nothing given.
  void clear(const cuda::Stream& stream) const {
    cuda::check(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream.get()),
                "clear what gathering blocks share");
  }
  [[nodiscard]] GatherView view() const {
    auto* bytes = static_cast<std::byte*>(memory_.data());
    return {reinterpret_cast<unsigned long long*>(bytes), reinterpret_cast<unsigned long long*>(bytes) + 1,
            static_cast<std::uint32_t*>(timed_out_.data()), reinterpret_cast<BlockPost*>(bytes + kPosts),
            patience_ns_};
  }
  // After a traversal: throws FailedError where blocks gave up waiting. That is then forgotten.
  void check() const {
    std::uint32_t timed_out = 0;
    cuda::check(cudaMemcpy(&timed_out, timed_out_.data(), sizeof(timed_out), cudaMemcpyDefault),
                "ask whether gathering blocks gave up");
    if (timed_out != 0) {
      forget();
      throw FailedError("blocks that gather edges waited " + std::to_string(patience_ns_ / 1'000'000) +
                        " ms for lists of which none got done: the traversal is not complete");
    }
  }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes() + timed_out_.bytes(); }

 private:
  static constexpr std::uint64_t kPosts = 128;  // where they begin

  void forget() const {
    cuda::check(cudaMemset(timed_out_.data(), 0, timed_out_.bytes()), "clear a time-out");
  }

  cuda::DeviceBuffer memory_;
  cuda::DeviceBuffer timed_out_;  // outlives levels
  std::uint64_t patience_ns_;
};

// How a grid walks work items: one function for lists that a warp walks, one for lists that a thread walks.
// What is done with an edge is the program's: `open` says what it takes from the list's vertex, `visit` what
// it does to a neighbour, `close` what it gives back to the vertex.

// Who walks an item together, and so calls `open` and `close` together: all lanes of a warp, or one thread.
enum class Team { thread, warp };

// What a walk notes down of its loads: nothing where it is timed.
enum class Note { nothing, loads, counts };

// Where loads are noted down: [capacity], device, `count` of them so far.
struct TraceBuffer {
  WarpLoad* loads = nullptr;
  unsigned long long* count = nullptr;
  std::uint64_t capacity = 0;
};

// Where they are counted: of one block.
struct BlockLoads {
  unsigned long long loads;  // warp-wide
  unsigned long long lanes;  // of these, that read an edge
};

struct WalkInput {
  const WorkItem* items = nullptr;       // device
  const std::uint64_t* count = nullptr;  // of them, device
  GraphView graph;
  TraceBuffer trace;
  BlockLoads* blocks = nullptr;  // [grid], device
  GatherView gather;             // of edge_gather
};

// By all lanes of a warp.
__device__ inline void count_lanes(BlockLoads* blocks, unsigned lanes) {
  if (lanes != 0 && threadIdx.x % kWarpLanes == 0) {
    atomicAdd(&blocks[blockIdx.x].loads, 1ULL);
    atomicAdd(&blocks[blockIdx.x].lanes, static_cast<unsigned long long>(__popc(lanes)));
  }
}

__device__ inline void trace_load(const TraceBuffer& trace, std::uint64_t element, std::uint32_t vertex) {
  const unsigned lanes = __ballot_sync(~0U, element != kNoElement);
  if (lanes != 0 && static_cast<int>(threadIdx.x % kWarpLanes) == __ffs(static_cast<int>(lanes)) - 1) {
    const unsigned long long at = atomicAdd(trace.count, 1ULL);
    if (at < trace.capacity) {
      trace.loads[at] = {element, vertex, lanes};
    }
  }
}

template <Note kNote>
__device__ void note_load(const WalkInput& input, std::uint64_t element, std::uint32_t vertex) {
  if constexpr (kNote == Note::loads) {
    trace_load(input.trace, element, vertex);
  }
  if constexpr (kNote == Note::counts) {
    count_lanes(input.blocks, __ballot_sync(~0U, element != kNoElement));
  }
}

// Elements of one step, of all lanes: all loads of an item are sent out before the first is used.
template <class Target, class Policy, class Program, Note kNote>
__device__ void walk_item(const WorkItem& item, const WalkInput& input, Program& program, int lane) {
  const auto* targets = static_cast<const Target*>(input.graph.targets);
  Target neighbours[kPieceSteps];
  Weight weights[kPieceSteps];
#pragma unroll
  for (int step = 0; step < kPieceSteps; ++step) {
    const std::uint64_t element = Policy::index(item, step, lane);
    note_load<kNote>(input, element, item.vertex);
    if (element != kNoElement) {
      neighbours[step] = targets[element];
      if constexpr (Program::kWeighted) {
        weights[step] = input.graph.weights[element];
      }
    }
  }
  auto source = program.open(item, Team::warp);
#pragma unroll
  for (int step = 0; step < kPieceSteps; ++step) {
    if (Policy::index(item, step, lane) != kNoElement) {
      program.visit(source, static_cast<Vertex>(neighbours[step]),
                    Program::kWeighted ? weights[step] : Weight{0});
    }
  }
  program.close(item, source, Team::warp);
}

template <class Target, class Policy, class Program, Note kNote>
__device__ void walk_turn(std::uint64_t turn, std::uint64_t count, const WalkInput& input, Program& program,
                          int lane) {
  const std::uint64_t first = turn * Policy::kItemsPerTurn;
  if constexpr (Policy::kLaneOwnsItem) {
    const bool mine = first + lane < count;
    const WorkItem item = mine ? input.items[first + lane] : WorkItem{};
    using Source = decltype(program.open(item, Team::thread));
    Source source = mine ? program.open(item, Team::thread) : Source{};
    const auto* targets = static_cast<const Target*>(input.graph.targets);
    // Lanes keep in step: a lane whose list has ended waits for the longest.
    for (std::uint32_t i = 0; __any_sync(~0U, i < item.length); ++i) {
      const std::uint64_t element = i < item.length ? item.first + i : kNoElement;
      note_load<kNote>(input, element, item.vertex);
      if (element != kNoElement) {
        const auto neighbour = static_cast<Vertex>(targets[element]);
        program.visit(source, neighbour, Program::kWeighted ? input.graph.weights[element] : Weight{0});
      }
    }
    if (mine) {
      program.close(item, source, Team::thread);
    }
  } else {
    for (int k = 0; k < Policy::kItemsPerTurn && first + k < count; ++k) {
      walk_item<Target, Policy, Program, kNote>(input.items[first + k], input, program, lane);
    }
  }
}

// A neighbour's state. Where lists come over a link, not by way of the multiprocessor's cache: lists side by
// side need that for the sectors that they share, and others' changes do not show there. Lists in the GPU's
// own memory are held up by the look-ups themselves, and of hubs the cache knows most.
__device__ inline std::uint32_t look_up(const std::uint32_t* state, bool over_link) {
  return over_link ? __ldcg(state) : *state;
}

inline constexpr int kWalkThreads = 256;

// Warp w of the grid takes turns w, w + warps, …
template <class Target, class Policy, class Program, Note kNote>
__global__ void __launch_bounds__(kWalkThreads) walk_lists(WalkInput input, Program program) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kWalkThreads / kWarpLanes);
  const std::uint64_t count = *input.count;
  const std::uint64_t turns = (count + Policy::kItemsPerTurn - 1) / Policy::kItemsPerTurn;
  std::uint64_t turn = std::uint64_t{blockIdx.x} * (kWalkThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; turn < turns; turn += warps) {
    walk_turn<Target, Policy, Program, kNote>(turn, count, input, program, lane);
  }
}

}  // namespace grainscope::graph

#endif
