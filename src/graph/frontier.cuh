#ifndef GRAINSCOPE_SRC_GRAPH_FRONTIER_CUH
#define GRAINSCOPE_SRC_GRAPH_FRONTIER_CUH

// From "these vertices are active" to work items in ascending order of addresses: count, scan, emit. A warp
// looks after 32 vertices at a time, whose activity is one word.

#include <cstdint>

#include "../cuda/launch.cuh"
#include "walk.cuh"

namespace grainscope::graph {

// What one level amounts to; device memory, copied to the host at its end.
struct LevelSummary {
  unsigned long long active;  // vertices
  unsigned long long edges;   // in their lists
  double rest;                // what the program has left to do, in its own measure (pr's residual)
  unsigned long long pushed;  // vertices, by push_vertex (vertex_list.cuh)
};

struct FrontierArrays {
  std::uint32_t* active;     // [words], a bit a vertex
  std::uint32_t* counts;     // [words + 1], items of each word's vertices; the last is 0
  std::uint64_t* positions;  // [words + 1], their exclusive sum
  WorkItem* items;           // [capacity]
  LevelSummary* summary;
  std::uint32_t words;
};

inline constexpr int kFrontierThreads = 256;

// Asks the program which vertices are active (it may change their state on the way) and counts their items.
template <class Policy, class Program>
__global__ void __launch_bounds__(kFrontierThreads)
    count_items(GraphView graph, FrontierArrays arrays, Program program) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t warps = gridDim.x * (kFrontierThreads / kWarpLanes);
  unsigned long long active = 0;
  unsigned long long edges = 0;
  double rest = 0;
  std::uint32_t word = blockIdx.x * (kFrontierThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; word < arrays.words; word += warps) {
    const std::uint32_t vertex = word * kWarpLanes + lane;
    const bool mine = vertex < graph.vertices;
    if constexpr (Program::kMeasuresRest) {
      rest += mine ? program.rest_of(vertex) : 0;
    }
    bool wants = program.activate(vertex, mine, lane);
    std::uint64_t items = 0;
    if (wants) {
      const std::uint64_t begin = graph.offsets[vertex];
      const std::uint64_t end = graph.offsets[vertex + std::uint64_t{1}];
      wants = begin < end;
      items = Policy::items(begin, end, graph.edge_bytes);
      edges += end - begin;
      active += wants ? 1 : 0;
    }
    const std::uint32_t bits = __ballot_sync(~0U, wants);
    items = cuda::sum_of_warp(items);
    if (lane == 0) {
      arrays.active[word] = bits;
      arrays.counts[word] = static_cast<std::uint32_t>(items);
    }
  }
  const std::uint64_t all_active = cuda::sum_of_warp(static_cast<std::uint64_t>(active));
  const std::uint64_t all_edges = cuda::sum_of_warp(static_cast<std::uint64_t>(edges));
  if (lane == 0 && all_active > 0) {
    atomicAdd(&arrays.summary->active, static_cast<unsigned long long>(all_active));
    atomicAdd(&arrays.summary->edges, static_cast<unsigned long long>(all_edges));
  }
  if constexpr (Program::kMeasuresRest) {
    rest = cuda::sum_of_warp(rest);
    if (lane == 0) {
      atomicAdd(&arrays.summary->rest, rest);
    }
  }
}

// Writes the items where the scan says. A program that is satisfied gets none.
template <class Policy, class Program>
__global__ void __launch_bounds__(kFrontierThreads)
    emit_items(GraphView graph, FrontierArrays arrays, Program program) {
  if (program.satisfied(*arrays.summary)) {
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const std::uint32_t warps = gridDim.x * (kFrontierThreads / kWarpLanes);
  std::uint32_t word = blockIdx.x * (kFrontierThreads / kWarpLanes) + threadIdx.x / kWarpLanes;
  for (; word < arrays.words; word += warps) {
    const std::uint32_t bits = arrays.active[word];
    if (bits == 0) {
      continue;
    }
    const std::uint32_t vertex = word * kWarpLanes + lane;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if ((bits >> lane & 1) != 0) {
      begin = graph.offsets[vertex];
      end = graph.offsets[vertex + std::uint64_t{1}];
    }
    const auto items = static_cast<std::uint32_t>(Policy::items(begin, end, graph.edge_bytes));
    const std::uint64_t at = arrays.positions[word] + cuda::sum_up_to_lane(items, lane) - items;
    for (std::uint32_t part = 0; part < items; ++part) {
      arrays.items[at + part] = Policy::item(vertex, begin, end, part, graph.edge_bytes);
    }
  }
}

// One thread: how many items there are to walk.
template <class Program>
__global__ void settle_level(FrontierArrays arrays, std::uint64_t* item_count, Program program) {
  *item_count = program.satisfied(*arrays.summary) ? 0 : arrays.positions[arrays.words];
}

}  // namespace grainscope::graph

#endif
