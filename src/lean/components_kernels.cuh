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

// Makes two vertices' trees one. Climbs from whichever has the higher parent, until that is a root and hangs
// below the other's parent (after Rem; Patwary, Blair and Manne, SEA 2010): most edges ask for two parents
// and no more, and nobody asks for the root of the largest tree but to hang below it. What is passed is hung
// one step higher, which shortens the way of those that follow: a vertex that is no root never becomes one
// again, and what was above it stays above it, so that nobody need be waited for.
__device__ inline void join(graph::Vertex* parents, graph::Vertex u, graph::Vertex v) {
  graph::Vertex above_u = __ldcg(parents + u);
  graph::Vertex above_v = __ldcg(parents + v);
  while (above_u != above_v) {
    if (above_u < above_v) {
      const graph::Vertex low = u;
      const graph::Vertex above_low = above_u;
      u = v;
      above_u = above_v;
      v = low;
      above_v = above_low;
    }
    if (above_u == u) {
      const graph::Vertex was = atomicCAS(parents + u, u, above_v);
      if (was == u) {
        return;
      }
      above_u = was;  // another was quicker
      continue;
    }
    const graph::Vertex next = __ldcg(parents + above_u);
    if (next != above_u) {
      __stcg(parents + u, next);
    }
    u = above_u;
    above_u = next;
  }
}

struct Join {
  graph::Vertex* parents;
  graph::Vertex vertex = 0;
  __device__ void start(std::uint32_t of) { vertex = of; }
  __device__ void visit(const Neighbour& neighbour) { join(parents, vertex, neighbour.vertex); }
  __device__ void finish(bool /*whole*/) {}
};

// What this lane of a pair samples of a list: its first neighbour or its second, or the vertex itself where
// there is none. All of a warp call together; `there`: whether the pair has a vertex.
template <Coding kCoding, bool kCount>
__device__ graph::Vertex sample_of(const ListsView& lists, graph::Vertex vertex, bool there, ReadNote* note) {
  const auto member = static_cast<std::uint32_t>(cuda::lane_of_warp() % kPairLanes);
  const HotPart hot = there ? hot_of(lists, vertex) : HotPart{};
  const bool from_hot = member < hot.count;
  const bool reads = there && hot.count < kSampledNeighbours;
  const ListParts parts = reads ? parts_of<kCoding>(lists, vertex) : ListParts{};
  const std::uint32_t wanted = member - min(member, hot.count);  // of what lies behind the link
  const std::uint64_t word = parts.begin + (kCoding == Coding::compressed ? member : wanted);
  const bool loads = word < parts.end && (kCoding == Coding::compressed || !from_hot);
  const std::uint32_t read = loads ? lists.words[word] : 0;
  if constexpr (kCount) {
    count_sectors(note, loads, word);
    add_lanes(&note->hot, from_hot);
  }
  graph::Vertex neighbour = read;
  bool from_link = loads;
  if constexpr (kCoding == Coding::compressed) {
    const FirstWords words = decode_first_words(read, format_of(lists, parts));
    neighbour = wanted == 0 ? words.first : words.second;
    from_link = !from_hot && parts.begin < parts.end && (wanted == 0 || words.two);
  }
  if constexpr (kCount) {
    add_lanes(&note->elements, from_link);
  }
  return from_hot ? lists.hot[hot.begin + member] : from_link ? neighbour : vertex;
}

// Whose lists are read to the end: of vertices outside the largest component as the sampling left it (joins
// go on meanwhile, and what is read must not depend on who came first), unless the sample was all of them.
__device__ inline std::uint32_t outside_of(const ListsView& lists, std::uint32_t word, graph::Vertex vertices,
                                           const ComponentArrays& a) {
  const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  const std::uint64_t sure = surely_sampled(lists.id_bits);
  const bool outside =
      vertex < vertices && a.sampled[vertex] != *a.largest && degree_of(lists, vertex) > sure;
  return __ballot_sync(kAllLanes, outside);
}

}  // namespace grainscope::lean

#endif
