#ifndef GRAINSCOPE_SRC_GRAPH_GATHER_TABLE_CUH
#define GRAINSCOPE_SRC_GRAPH_GATHER_TABLE_CUH

// A block's adjacency-list working table (GraphPEG's ALWT) in shared memory, with what is gathered from its
// lists in one round. A list of the table belongs to one lane of the block's first warp.

#include "../cuda/launch.cuh"
#include "walk.cuh"

namespace grainscope::graph {

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

template <class Program>
using ListSource =
    decltype(static_cast<Program*>(nullptr)->open(*static_cast<const WorkItem*>(nullptr), Team::thread));

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

}  // namespace grainscope::graph

#endif
