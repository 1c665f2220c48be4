#ifndef GRAINSCOPE_SRC_LEAN_NEAR_FAR_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_NEAR_FAR_KERNELS_CUH

// The phases of a step of shortest paths, each by all warps of the grid; near_far.cu puts them together.

#include <cstdint>

#include "grainscope/graph/answers.hpp"
#include "lists.cuh"

namespace grainscope::lean {

// More steps are no use to anyone: a delta that is far too small.
inline constexpr std::uint32_t kMostSteps = 1 << 18;

// What a step comes to; two take turns.
struct StepCounters {
  unsigned long long active;
  unsigned long long edges;
  unsigned long long pieces;
  unsigned int nearest;  // of the vertices that wait, the lowest distance
};

// All device memory. A set of vertices is a bit each.
struct PathArrays {
  std::uint32_t* distances;  // [V]
  std::uint32_t* fallen;     // [words]: distance is lower than when the list was last read
  std::uint32_t* active;     // [words]: of these, whose lists are read in this step
  PieceItem* pieces;         // [most_pieces]
  StepCounters* counters;    // [2]
  std::uint32_t words;
};

// Only the source has a distance, and has fallen.
__device__ inline void clear_paths(const PathArrays& a, graph::Vertex vertices, graph::Vertex source) {
  const std::uint64_t first = cuda::thread_of_grid();
  for (std::uint64_t word = first; word < a.words; word += cuda::threads_of_grid()) {
    a.fallen[word] = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
  }
  for (std::uint64_t vertex = first; vertex < vertices; vertex += cuda::threads_of_grid()) {
    a.distances[vertex] = vertex == source ? 0 : graph::kUnreached;
  }
  if (first < 2) {
    a.counters[first] = {0, 0, 0, graph::kUnreached};
  }
}

// Of the vertices whose distance has fallen, those below the threshold become active.
__device__ inline void choose(const ListsView& lists, const PathArrays& a, std::uint64_t threshold,
                              StepCounters& step) {
  unsigned long long active = 0;
  unsigned long long edges = 0;
  std::uint32_t nearest = graph::kUnreached;
  const int lane = cuda::lane_of_warp();
  const auto fallen_of = [&](std::uint32_t word) {
    a.active[word] = 0;
    return a.fallen[word];
  };
  for_words({0, a.words}, fallen_of, [&](std::uint32_t word, std::uint32_t fallen) {
    bool near = false;
    if ((fallen >> lane & 1) != 0) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(lane);
      const std::uint32_t distance = __ldcg(a.distances + vertex);
      near = distance < threshold;
      active += near ? 1 : 0;
      edges += near ? degree_of(lists, vertex) : 0;
      nearest = near ? nearest : min(nearest, distance);
    }
    const std::uint32_t chosen = __ballot_sync(kAllLanes, near);
    if (lane == 0 && chosen != 0) {
      a.active[word] = chosen;
      a.fallen[word] = fallen & ~chosen;
    }
  });
  active = cuda::sum_of_warp(active);
  edges = cuda::sum_of_warp(edges);
  nearest =
      cuda::all_of_warp(nearest, [](std::uint32_t one, std::uint32_t other) { return min(one, other); });
  if (lane == 0 && active > 0) {
    atomicAdd(&step.active, active);
    atomicAdd(&step.edges, edges);
  }
  if (lane == 0 && nearest != graph::kUnreached) {
    atomicMin(&step.nearest, nearest);
  }
}

// A list, or a piece of one, is read with the distance that its vertex has then. Where that has fallen since
// an earlier piece was, the vertex is among the fallen again, and all of its list comes once more.
struct Relax {
  const PathArrays& a;
  std::uint32_t distance = 0;

  __device__ void start(std::uint32_t vertex) {
    std::uint32_t read = 0;
    if (cuda::lane_of_warp() == 0) {
      read = __ldcg(a.distances + vertex);
    }
    distance = __shfl_sync(kAllLanes, read, 0);
  }
  __device__ void visit(const Neighbour& neighbour) {
    const std::uint32_t through = distance + neighbour.weight;
    // What is read first may be too high by now: then the next line tells.
    if (through < a.distances[neighbour.vertex] &&
        through < atomicMin(a.distances + neighbour.vertex, through)) {
      atomicOr(a.fallen + neighbour.vertex / kWarpLanes, 1U << neighbour.vertex % kWarpLanes);
    }
  }
  __device__ void finish(bool /*whole*/) {}
};

}  // namespace grainscope::lean

#endif
