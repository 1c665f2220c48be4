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

// Of the vertices whose distance has fallen, those below the threshold become active. A warp has 32 words
// that lie side by side, and asks for the distances of some of these words' vertices before it looks at the
// first.
__device__ inline void choose(const ListsView& lists, const PathArrays& a, std::uint64_t threshold,
                              StepCounters& step) {
  constexpr int kAtOnce = 4;
  unsigned long long active = 0;
  unsigned long long edges = 0;
  std::uint32_t nearest = graph::kUnreached;
  const int lane = cuda::lane_of_warp();
  for (std::uint64_t first = std::uint64_t{warp_of_grid()} * kWarpLanes; first < a.words;
       first += std::uint64_t{warps_of_grid()} * kWarpLanes) {
    const std::uint64_t own = first + static_cast<std::uint32_t>(lane);
    const std::uint32_t fallen = own < a.words ? a.fallen[own] : 0;
    const auto vertex_of = [&](int of) {  // this lane's, of the word that lane has
      return static_cast<std::uint32_t>((first + static_cast<std::uint32_t>(of)) * kWarpLanes) +
             static_cast<std::uint32_t>(lane);
    };
    std::uint32_t chosen = 0;  // of the lane's own word
    for (std::uint32_t with = __ballot_sync(kAllLanes, fallen != 0); with != 0;) {
      int of[kAtOnce];                  // the lane whose word it is
      std::uint32_t distance[kAtOnce];  // of this lane's vertex, where that has fallen
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        of[i] = max(__ffs(static_cast<int>(with)) - 1, 0);
        const std::uint32_t bits = with != 0 ? __shfl_sync(kAllLanes, fallen, of[i]) : 0;
        with &= with - 1;
        distance[i] = (bits >> lane & 1) != 0 ? __ldcg(a.distances + vertex_of(of[i])) : graph::kUnreached;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool near = distance[i] < threshold && distance[i] != graph::kUnreached;
        active += near ? 1 : 0;
        edges += near ? degree_of(lists, vertex_of(of[i])) : 0;
        nearest = near ? nearest : min(nearest, distance[i]);
        const std::uint32_t of_word = __ballot_sync(kAllLanes, near);
        chosen |= lane == of[i] ? of_word : 0;
      }
    }
    if (own < a.words) {
      a.active[own] = chosen;
      if (chosen != 0) {
        a.fallen[own] = fallen & ~chosen;
      }
    }
  }
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
