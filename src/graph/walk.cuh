#ifndef GRAINSCOPE_SRC_GRAPH_WALK_CUH
#define GRAINSCOPE_SRC_GRAPH_WALK_CUH

// How a grid walks work items: lists that a team of lanes walks, lists that a thread walks, and tiles of
// lists whose edges a block shares. What is done with an edge is the program's: `open` says what it takes
// from the list's vertex, `visit` what it does to a neighbour, `close` what it gives back to the vertex.

#include <algorithm>
#include <cstdint>

#include "../cuda/launch.cuh"
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

// Who walks an item together, and so calls `open` and `close` together: so many lanes of a warp, aligned, or
// one thread. Teams of several lanes call so for all teams of their warp at once; a team that got no item has
// an empty one, of vertex 0.
enum class Team { thread = 1, of_4 = 4, of_8 = 8, of_16 = 16, warp = kWarpLanes };

// Whether the calling lane speaks for its team.
__device__ inline bool speaks_for(Team team) {
  return team == Team::thread || threadIdx.x % static_cast<unsigned>(team) == 0;
}
// Over the lanes of the team; to all of them.
__device__ inline std::uint32_t least_of(std::uint32_t value, Team team) {
  if (team == Team::warp) {
    return __reduce_min_sync(~0U, value);
  }
  for (int distance = static_cast<int>(team) / 2; distance > 0; distance /= 2) {
    value = min(value, __shfl_xor_sync(~0U, value, distance));
  }
  return value;
}
__device__ inline std::uint32_t most_of(std::uint32_t value, Team team) {
  return ~least_of(~value, team);
}
__device__ inline double sum_of(double value, Team team) {
  for (int distance = static_cast<int>(team) / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(~0U, value, distance);
  }
  return value;
}

// What a walk notes down of its loads: nothing where it is timed; else each of them where it is given a
// trace, and how many each block made where it is given blocks.
enum class Note { nothing, loads };

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

// Where the tiles of a level begin; device memory.
struct TileView {
  const std::uint64_t* edges_before = nullptr;  // [lists + 1], of the lists before each
  TileStart* starts = nullptr;                  // [tiles + 1]
};

struct WalkInput {
  const WorkItem* items = nullptr;       // device
  const std::uint64_t* count = nullptr;  // of them, device
  GraphView graph;
  TraceBuffer trace;
  BlockLoads* blocks = nullptr;  // [grid], device
  GatherView gather;             // of edge_gather
  TileView tiles = {};           // of merge_path
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
    if (input.trace.loads != nullptr) {
      trace_load(input.trace, element, vertex);
    }
    if (input.blocks != nullptr) {
      count_lanes(input.blocks, __ballot_sync(~0U, element != kNoElement));
    }
  }
}

// Elements of one step, of all lanes: all loads of an item are sent out before the first is used. `lane`: of
// its team.
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
  constexpr Team kTeam{Policy::kTeamLanes};
  auto source = program.open(item, kTeam);
#pragma unroll
  for (int step = 0; step < kPieceSteps; ++step) {
    if (Policy::index(item, step, lane) != kNoElement) {
      program.visit(source, static_cast<Vertex>(neighbours[step]),
                    Program::kWeighted ? weights[step] : Weight{0});
    }
  }
  program.close(item, source, kTeam);
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
  } else if constexpr (Policy::kTeamLanes < kWarpLanes) {
    const std::uint64_t at = first + static_cast<unsigned>(lane / Policy::kTeamLanes);
    const WorkItem item = at < count ? input.items[at] : WorkItem{};
    walk_item<Target, Policy, Program, kNote>(item, input, program, lane % Policy::kTeamLanes);
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

// Tiles of lists, whose edges the threads of a block share.

// Of lists and edges together.
__host__ __device__ inline std::uint64_t merge_path_tiles(std::uint64_t work) {
  return (work + MergePath::kTileWork - 1) / MergePath::kTileWork;
}

// A thread a tile. `count`: of lists, device.
static __global__ void find_tiles(TileView tiles, const std::uint64_t* count) {
  const std::uint64_t lists = *count;
  const std::uint64_t edges = lists == 0 ? 0 : tiles.edges_before[lists];
  const auto ends = [&](std::uint64_t list) { return tiles.edges_before[list + 1]; };
  const std::uint64_t all = merge_path_tiles(lists + edges);
  for (std::uint64_t tile = cuda::thread_of_grid(); tile <= all; tile += cuda::threads_of_grid()) {
    tiles.starts[tile] = merge_path_start(tile, lists, edges, ends);
  }
}

// What a program takes from a list's vertex.
template <class Program>
using ListSource =
    decltype(static_cast<Program*>(nullptr)->open(*static_cast<const WorkItem*>(nullptr), Team::thread));

// A block's lists of one tile, in shared memory. Edge e of the tile is of the first list that ends after it,
// and element bases[list] + e of the edge arrays.
template <class Policy, class Program>
struct TileMemory {
  using Source = ListSource<Program>;
  std::uint64_t ends[Policy::kTileLists];   // edges of the tile up to the list's last
  std::uint64_t bases[Policy::kTileLists];  // modulo 2^64
  Vertex vertices[Policy::kTileLists];
  alignas(Source) std::byte sources[Policy::kTileLists * sizeof(Source)];
  std::uint64_t sums[kWalkThreads / kWarpLanes];

  __device__ Source& source(std::uint32_t list) { return reinterpret_cast<Source*>(sources)[list]; }
};

// The lists of a tile, of which the last may go on beyond it, and the first have begun before.
struct Tile {
  std::uint64_t first = 0;  // list
  std::uint32_t lists = 0;
};

template <class Policy, class Program>
class TileWalk {
 public:
  __device__ TileWalk(const WalkInput& input, Program& program, TileMemory<Policy, Program>& memory)
      : input_(input), program_(program), memory_(memory), count_(*input.count) {}

  [[nodiscard]] __device__ std::uint64_t tiles() const {
    if constexpr (kShares) {
      return count_ == 0 ? 0 : merge_path_tiles(count_ + input_.tiles.edges_before[count_]);
    } else {
      return (count_ + Policy::kTileLists - 1) / Policy::kTileLists;
    }
  }

  // By all threads: the lists of a tile are opened. Returns how many edges it has.
  __device__ std::uint64_t open(std::uint64_t number) {
    if constexpr (kShares) {
      const TileStart from = input_.tiles.starts[number];
      const TileStart to = input_.tiles.starts[number + 1];
      // The list with which the next tile begins has edges here if that begins behind its first.
      const bool cut = to.list < count_ && to.edge > input_.tiles.edges_before[to.list];
      tile_ = {from.list, static_cast<std::uint32_t>(to.list - from.list) + (cut ? 1U : 0U)};
      for (std::uint32_t list = threadIdx.x; list < tile_.lists; list += kWalkThreads) {
        const std::uint64_t before = input_.tiles.edges_before[tile_.first + list];
        const std::uint64_t end = input_.tiles.edges_before[tile_.first + list + 1];
        const WorkItem item = input_.items[tile_.first + list];
        memory_.ends[list] = min(end, to.edge) - from.edge;
        memory_.bases[list] = item.first + from.edge - before;
        open_list(list, item, before >= from.edge && end <= to.edge);
      }
    } else {
      tile_.first = number * Policy::kTileLists;
      tile_.lists = static_cast<std::uint32_t>(min(count_ - tile_.first, std::uint64_t{Policy::kTileLists}));
      static_assert(Policy::kTileLists == kWalkThreads);
      const bool mine = threadIdx.x < tile_.lists;
      const WorkItem item = mine ? input_.items[tile_.first + threadIdx.x] : WorkItem{};
      const std::uint64_t end = sum_up_to_thread(item.length);
      if (mine) {
        memory_.ends[threadIdx.x] = end;
        memory_.bases[threadIdx.x] = item.first - (end - item.length);
        open_list(threadIdx.x, item, true);
      }
    }
    __syncthreads();
    return tile_.lists == 0 ? 0 : memory_.ends[tile_.lists - 1];
  }

  // The list that has an edge of the tile.
  [[nodiscard]] __device__ std::uint32_t list_of(std::uint64_t edge) const {
    std::uint32_t low = 0;
    std::uint32_t high = tile_.lists - 1;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (memory_.ends[middle] <= edge) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // By all threads, once every edge has been visited.
  __device__ void close() {
    __syncthreads();
    for (std::uint32_t list = threadIdx.x; list < tile_.lists; list += kWalkThreads) {
      program_.close(item_of(list, false), memory_.source(list), Team::thread);
    }
    __syncthreads();
  }

 private:
  static constexpr bool kShares = Policy::kAccess == Access::merge_path;

  __device__ WorkItem item_of(std::uint32_t list, bool whole) const {
    return {0, 0, 0, memory_.vertices[list], whole ? 1U : 0U};
  }
  __device__ void open_list(std::uint32_t list, const WorkItem& item, bool whole) {
    memory_.vertices[list] = item.vertex;
    memory_.source(list) = program_.open(item_of(list, whole), Team::thread);
  }

  // Over the block.
  __device__ std::uint64_t sum_up_to_thread(std::uint64_t value) {
    const auto lane = static_cast<int>(threadIdx.x % kWarpLanes);
    const unsigned warp = threadIdx.x / kWarpLanes;
    std::uint64_t sum = cuda::sum_up_to_lane(value, lane);
    if (lane == kWarpLanes - 1) {
      memory_.sums[warp] = sum;
    }
    __syncthreads();
    for (unsigned before = 0; before < warp; ++before) {
      sum += memory_.sums[before];
    }
    return sum;
  }

  const WalkInput& input_;
  Program& program_;
  TileMemory<Policy, Program>& memory_;
  std::uint64_t count_;
  Tile tile_;
};

template <class Target, class Policy, class Program, Note kNote>
__global__ void __launch_bounds__(kWalkThreads) walk_tiles(WalkInput input, Program program) {
  constexpr int kBatch = 4;  // loads of a thread that are on their way at once
  __shared__ TileMemory<Policy, Program> memory;
  TileWalk<Policy, Program> walk(input, program, memory);
  const auto* targets = static_cast<const Target*>(input.graph.targets);
  const std::uint64_t tiles = walk.tiles();
  for (std::uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::uint64_t edges = walk.open(tile);
    for (std::uint64_t first = 0; first < edges; first += std::uint64_t{kBatch} * kWalkThreads) {
      std::uint32_t lists[kBatch];
      Target neighbours[kBatch];
      Weight weights[kBatch];
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const std::uint64_t edge = first + static_cast<unsigned>(k) * kWalkThreads + threadIdx.x;
        std::uint64_t element = kNoElement;
        if (edge < edges) {
          lists[k] = walk.list_of(edge);
          element = memory.bases[lists[k]] + edge;
          neighbours[k] = targets[element];
          if constexpr (Program::kWeighted) {
            weights[k] = input.graph.weights[element];
          }
        }
        note_load<kNote>(input, element, edge < edges ? memory.vertices[lists[k]] : 0);
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        if (first + static_cast<unsigned>(k) * kWalkThreads + threadIdx.x < edges) {
          auto source = memory.source(lists[k]);
          program.visit(source, static_cast<Vertex>(neighbours[k]),
                        Program::kWeighted ? weights[k] : Weight{0});
          program.merge(memory.source(lists[k]), source);
        }
      }
    }
    walk.close();
  }
}

}  // namespace grainscope::graph

#endif
