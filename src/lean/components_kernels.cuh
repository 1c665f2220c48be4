#ifndef GRAINSCOPE_SRC_LEAN_COMPONENTS_KERNELS_CUH
#define GRAINSCOPE_SRC_LEAN_COMPONENTS_KERNELS_CUH

// Trees of vertices and how they are joined; components.cu puts the phases together.

#include <cstdint>

#include "../cuda/launch.cuh"
#include "grainscope/lean/lean_cc.hpp"
#include "lists.cuh"

namespace grainscope::lean {

// What stages tell each other.
struct ComponentState {
  unsigned long long joined[kListPhases + 1];  // parts fewer than before, as phase_pays asks
  unsigned long long pieces[kListPhases + 1];  // that are handed out by each phase, and by the rest
  graph::Vertex largest;                       // a root, by the sample; or kNoComponent
  graph::Vertex read_from;                     // whose lists are read to the end: those from here,
  graph::Vertex read_to;                       // and below this
  std::uint32_t sure;                          // longer lists are read in the rest
  std::uint32_t sampled;                       // whether any vertex was asked for samples
  // By the GPU's clock: when each stage began, and when the last one was through.
  unsigned long long began_ns[kCcStages + 1];
};

// By the first kernel of a stage, or the one after the last.
__device__ inline void note_began(ComponentState& state, int stage) {
  if (cuda::thread_of_grid() == 0) {
    state.began_ns[stage] = cuda::global_timer_ns();
  }
}

struct ComponentArrays {
  graph::Vertex* parents;  // [V]: no higher than the vertex; a root is its own
  graph::Vertex* roots;    // [V]: as the last stage left them
  ComponentState* state;
  PieceItem* pieces;  // [most_pieces]
  ReadNote* reads;    // [kCcStages]; null: nothing is counted
};

// Makes two vertices' trees one. Climbs from whichever has the higher parent, until that is a root and hangs
// below the other's parent (after Rem; Patwary, Blair and Manne, SEA 2010): most edges ask for two parents
// and no more, and nobody asks for the root of the largest tree but to hang below it. What is passed is hung
// one step higher, which shortens the way of those that follow: a vertex that is no root never becomes one
// again, and what was above it stays above it, so that nobody need be waited for. Whether they were two.
__device__ inline bool join(graph::Vertex* parents, graph::Vertex u, graph::Vertex v) {
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
        return true;
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
  return false;
}

struct Join {
  graph::Vertex* parents;
  graph::Vertex vertex = 0;
  std::uint32_t joined = 0;  // by this lane
  __device__ void start(std::uint32_t of) { vertex = of; }
  __device__ void visit(const Neighbour& neighbour) {
    joined += join(parents, vertex, neighbour.vertex) ? 1 : 0;
  }
  __device__ void finish(bool /*whole*/) {}
};

// By all lanes.
__device__ inline void add_joined(unsigned long long* sum, std::uint32_t joined) {
  joined = __reduce_add_sync(kAllLanes, joined);
  if (joined > 0 && cuda::lane_of_warp() == 0) {
    atomicAdd(sum, static_cast<unsigned long long>(joined));
  }
}

// Of the hot neighbours of this lane's vertex those that are sampled, or the vertex itself. All of a warp
// call together; `there`: whether the lane has a vertex.
struct HotSamples {
  graph::Vertex of[kSampledNeighbours];
};
template <bool kCount>
__device__ HotSamples hot_samples_of(const ListsView& lists, graph::Vertex vertex, bool there,
                                     ReadNote* note) {
  const HotPart hot = there ? hot_of(lists, vertex) : HotPart{};
  HotSamples samples;
#pragma unroll
  for (std::uint32_t i = 0; i < kSampledNeighbours; ++i) {
    const bool mine = i < hot.count;
    if constexpr (kCount) {
      add_lanes(&note->hot, mine);
    }
    samples.of[i] = mine ? lists.hot[hot.begin + i] : vertex;
  }
  return samples;
}

// What this lane of a pair samples of a list over the link: its first neighbour or its second, unless that is
// hot; or the vertex itself where there is none. All of a warp call together; `there`: whether the pair has a
// vertex.
template <Coding kCoding, bool kCount>
__device__ graph::Vertex sample_of(const ListsView& lists, graph::Vertex vertex, bool there, ReadNote* note) {
  const auto member = static_cast<std::uint32_t>(cuda::lane_of_warp() % kPairLanes);
  const std::uint32_t hot = there ? hot_of(lists, vertex).count : 0;
  const bool from_hot = member < hot;
  const ListParts parts = there && hot < kSampledNeighbours ? parts_of<kCoding>(lists, vertex) : ListParts{};
  const std::uint32_t wanted = member - min(member, hot);  // of what lies behind the link
  const std::uint64_t word = parts.begin + (kCoding == Coding::compressed ? member : wanted);
  const bool loads = word < parts.end && (kCoding == Coding::compressed || !from_hot);
  __syncwarp();  // one load
  const std::uint32_t read = loads ? lists.words[word] : 0;
  if constexpr (kCount) {
    count_sectors(note, loads, word);
  }
  graph::Vertex neighbour = read;
  bool found = loads;
  if constexpr (kCoding == Coding::compressed) {
    if (!__any_sync(kAllLanes, loads)) {
      return vertex;
    }
    const FirstWords words = decode_first_words(read, format_of(lists, parts));
    neighbour = wanted == 0 ? words.first : words.second;
    found = !from_hot && parts.begin < parts.end && (wanted == 0 || words.two);
  }
  if constexpr (kCount) {
    add_lanes(&note->elements, found);
  }
  return found ? neighbour : vertex;
}

// Whether a phase has read a vertex's list.
__device__ inline bool is_read(const ComponentState& state, graph::Vertex vertex) {
  return vertex >= state.read_from && vertex < state.read_to;
}

// Whether a vertex is asked for samples.
__device__ inline bool is_sampled(const ComponentArrays& a, graph::Vertex vertex) {
  const graph::Vertex largest = a.state->largest;
  return !is_read(*a.state, vertex) && (largest == kNoComponent || a.roots[vertex] != largest);
}

// Whose lists are read to the end: of vertices outside the largest component as the sampling left it (joins
// go on meanwhile, and what is read must not depend on who came first), unless the sample was all of them.
__device__ inline std::uint32_t outside_of(const ListsView& lists, std::uint32_t word, graph::Vertex vertices,
                                           const ComponentArrays& a) {
  const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
  const bool outside = vertex < vertices && !is_read(*a.state, vertex) &&
                       a.roots[vertex] != a.state->largest && degree_of(lists, vertex) > a.state->sure;
  return __ballot_sync(kAllLanes, outside);
}

}  // namespace grainscope::lean

#endif
