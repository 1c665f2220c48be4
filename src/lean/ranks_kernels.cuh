#ifndef GRAINSCOPE_SRC_LEAN_RANKS_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_RANKS_KERNELS_CUH

// The phases of a sweep over all lists, each by all warps of the grid; ranks.cu puts them together.

#include <cstdint>

#include "grainscope/graph/answers.hpp"
#include "lists.cuh"

namespace grainscope::lean {

// What a sweep comes to; two take turns.
struct SweepCounters {
  unsigned long long pieces;
  double changed;  // sum of |new - old|
  double mass;     // sum of the new ranks
};

// All device memory.
struct RankArrays {
  float* ranks;                // [V]
  float* shares;               // [V]: what each edge of a vertex carries
  double* sums;                // [V]: of lists that come in pieces
  std::uint32_t* listed;       // [words]: has a list to pull from
  PieceItem* pieces;           // [most_pieces]
  SweepCounters* counters;     // [2]
  unsigned long long* ranked;  // vertices with a list
  std::uint32_t words;
};

// The even teleport, and damping times what each list would carry if all edges carried the same.
__device__ inline void begin_near(const PlacedView& lists, const RankArrays& a, float base) {
  const double ranked_share = static_cast<double>(*a.ranked) / lists.vertices;
  const auto edges = static_cast<double>(max(lists.edges, std::uint64_t{1}));
  for (std::uint64_t v = cuda::thread_of_grid(); v < lists.vertices; v += cuda::threads_of_grid()) {
    const auto vertex = static_cast<graph::Vertex>(v);
    const double of_all = static_cast<double>(degree_of(lists.in, vertex)) / edges;
    const std::uint64_t degree = degree_of(lists.out, vertex);
    const auto rank = static_cast<float>(base + graph::kDamping * ranked_share * of_all);
    a.ranks[v] = rank;
    a.shares[v] = degree > 0 ? rank / static_cast<float>(degree) : 0;
    a.sums[v] = 0;
  }
  if (cuda::thread_of_grid() < 2) {
    a.counters[cuda::thread_of_grid()] = {};
  }
}

// A vertex's new rank, from what its list carries.
struct Settle {
  const ListsView& out;
  const RankArrays& a;
  float base;
  double changed = 0;
  double mass = 0;

  __device__ void operator()(std::uint32_t vertex, double carried) {
    const auto rank = static_cast<float>(base + graph::kDamping * carried);
    const std::uint64_t degree = degree_of(out, vertex);
    changed += fabs(static_cast<double>(rank) - a.ranks[vertex]);
    mass += rank;
    a.ranks[vertex] = rank;
    a.shares[vertex] = degree > 0 ? rank / static_cast<float>(degree) : 0;
  }
  // By all lanes of a warp.
  __device__ void finish(SweepCounters& sweep) const {
    const double all_changed = cuda::sum_of_warp(changed);
    const double all_mass = cuda::sum_of_warp(mass);
    if (cuda::lane_of_warp() == 0 && all_mass > 0) {
      atomicAdd(&sweep.changed, all_changed);
      atomicAdd(&sweep.mass, all_mass);
    }
  }
};

struct Carry {
  const RankArrays& a;
  Settle& settle;
  std::uint32_t vertex = 0;
  float sum = 0;  // of a lane: few enough for single precision

  __device__ void start(std::uint32_t of) {
    vertex = of;
    sum = 0;
  }
  // As it is now: a share that this multiprocessor read before may have changed since.
  __device__ void visit(const Neighbour& neighbour) { sum += __ldcg(a.shares + neighbour.vertex); }
  __device__ void finish(bool whole) {
    const double carried = cuda::sum_of_warp(static_cast<double>(sum));
    if (cuda::lane_of_warp() != 0) {
      return;
    }
    if (whole) {
      settle(vertex, carried);
    } else {
      atomicAdd(a.sums + vertex, carried);
    }
  }
};

// Of the lists that came in pieces.
__device__ inline void settle_long(const RankArrays& a, std::uint64_t pieces, Settle& settle) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < pieces; i += cuda::threads_of_grid()) {
    if (const PieceItem item = a.pieces[i]; item.piece == 0) {
      settle(item.vertex, __ldcg(a.sums + item.vertex));
      a.sums[item.vertex] = 0;
    }
  }
}

// All ranks of vertices with a list, times a factor.
__device__ inline void scale(const RankArrays& a, graph::Vertex vertices, float factor) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    if ((a.listed[v / kWarpLanes] >> v % kWarpLanes & 1) != 0) {
      a.ranks[v] *= factor;
      a.shares[v] *= factor;
    }
  }
}

}  // namespace grainscope::lean

#endif
