#ifndef GRAINSCOPE_SRC_LEAN_COMPONENTS_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_COMPONENTS_KERNELS_CUH

// Trees of vertices and how they are joined; components.cu puts the phases together.

#include <cstdint>

#include "grainscope/lean/lean_cc.hpp"
#include "lists.cuh"

namespace grainscope::lean {

struct ComponentArrays {
  graph::Vertex* parents;  // [V]: no higher than the vertex; a root is its own
  graph::Vertex* sampled;  // [V]: roots once the samples are joined
  graph::Vertex* largest;  // the root of the largest component, by the sample
  PieceItem* pieces;       // [most_pieces]
  unsigned long long* piece_count;
  ReadNote* reads;  // [2]; null: nothing is counted
};

// Hangs the higher of two roots below the lower, from wherever in their trees the vertices are.
__device__ inline void join(graph::Vertex* parents, graph::Vertex u, graph::Vertex v) {
  graph::Vertex one = __ldcg(parents + u);
  graph::Vertex other = __ldcg(parents + v);
  while (one != other) {
    const graph::Vertex high = max(one, other);
    const graph::Vertex low = min(one, other);
    const graph::Vertex above = __ldcg(parents + high);
    if (above == low || (above == high && atomicCAS(parents + high, high, low) == high)) {
      return;
    }
    one = __ldcg(parents + __ldcg(parents + high));
    other = __ldcg(parents + low);
  }
}

struct Join {
  graph::Vertex* parents;
  graph::Vertex vertex = 0;
  __device__ void start(std::uint32_t of) { vertex = of; }
  __device__ void visit(const Neighbour& neighbour) { join(parents, vertex, neighbour.vertex); }
  __device__ void finish(bool /*whole*/) {}
};

// The first two neighbours of each list of four bytes a neighbour, by two lanes.
template <bool kCount>
__device__ void join_sample_of_pair(const ListsView& lists, std::uint64_t turn, graph::Vertex vertices,
                                    const ComponentArrays& a) {
  const auto member = static_cast<std::uint32_t>(cuda::lane_of_warp() % kPairLanes);
  const std::uint64_t vertex = (turn * kWarpLanes + cuda::lane_of_warp()) / kPairLanes;
  const ListParts parts =
      vertex < vertices ? parts_of<Coding::plain>(lists, static_cast<std::uint32_t>(vertex)) : ListParts{};
  const bool from_hot = member < parts.hot;
  const std::uint64_t element = parts.begin + member - min(member, parts.hot);
  const bool from_link = !from_hot && element < parts.end;
  if constexpr (kCount) {
    add_lanes(&a.reads->hot, from_hot);
    add_lanes(&a.reads->elements, from_link);
    count_sectors(a.reads, from_link, element);
  }
  if (from_hot) {
    join(a.parents, static_cast<graph::Vertex>(vertex), lists.hot[parts.hot_begin + member]);
  } else if (from_link) {
    join(a.parents, static_cast<graph::Vertex>(vertex), lists.words[element]);
  }
}

// The same of compressed lists, by eight lanes, which read their first sector.
template <bool kCount>
__device__ void join_sample_of_team(const ListsView& lists, std::uint64_t turn, graph::Vertex vertices,
                                    const ComponentArrays& a) {
  const auto member = static_cast<std::uint32_t>(cuda::lane_of_warp() % kTeamLanes);
  const std::uint64_t vertex = (turn * kWarpLanes + cuda::lane_of_warp()) / kTeamLanes;
  const ListParts parts = vertex < vertices
                              ? parts_of<Coding::compressed>(lists, static_cast<std::uint32_t>(vertex))
                              : ListParts{};
  const auto hot = static_cast<std::uint32_t>(min(std::uint64_t{parts.hot}, kSampledNeighbours));
  const auto wanted = static_cast<std::uint32_t>(kSampledNeighbours) - hot;
  const bool reads = wanted > 0 && parts.begin < parts.end;
  const Step step = first_step(parts.begin, parts.end);
  const bool mine = reads && step.from + member < step.to;
  if constexpr (kCount) {
    count_sectors(a.reads, mine, step.from + member);
    add_lanes(&a.reads->hot, member < hot);
  }
  const FirstSector sector =
      decode_first_sector(mine ? lists.words[step.from + member] : 0, static_cast<int>(step.to - step.from),
                          format_of(lists, parts));
  const bool first = reads && member == 0;
  const bool second = first && wanted > 1 && sector.mine;
  if constexpr (kCount) {
    add_lanes(&a.reads->elements, first);
    add_lanes(&a.reads->elements, second);
  }
  if (member < hot) {
    join(a.parents, static_cast<graph::Vertex>(vertex), lists.hot[parts.hot_begin + member]);
  }
  if (first) {
    join(a.parents, static_cast<graph::Vertex>(vertex), sector.first);
  }
  if (second) {
    join(a.parents, static_cast<graph::Vertex>(vertex), sector.next);
  }
}

// Whose lists are read to the end: of vertices outside the largest component as the sampling left it (joins
// go on meanwhile, and what is read must not depend on who came first), unless the sample was all of them.
__device__ inline std::uint32_t outside_of(const ListsView& lists, std::uint32_t word, graph::Vertex vertices,
                                           const ComponentArrays& a) {
  const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  const bool outside =
      vertex < vertices && a.sampled[vertex] != *a.largest && degree_of(lists, vertex) > kSampledNeighbours;
  return __ballot_sync(kAllLanes, outside);
}

}  // namespace grainscope::lean

#endif
