#ifndef GRAINSCOPE_SRC_LEAN_COMPONENTS_STAGES_CUH
#define GRAINSCOPE_SRC_LEAN_COMPONENTS_STAGES_CUH

// The kernels of connected components, in the order in which components.cu launches them; those that have
// nothing to do find that out themselves.

#include <cstdint>

#include "components_kernels.cuh"

namespace grainscope::lean {
// From `lists_end` on no vertex has a neighbour: it is its own root, whatever is joined.
__global__ static void __launch_bounds__(kLeanThreads)
    clear_components(ComponentArrays a, graph::Vertex vertices, graph::Vertex lists_end,
                     graph::Vertex read_from) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    a.parents[v] = static_cast<graph::Vertex>(v);
    if (v >= lists_end) {
      a.roots[v] = static_cast<graph::Vertex>(v);
    }
  }
  if (cuda::thread_of_grid() == 0) {
    *a.state = {};
    a.state->largest = kNoComponent;
    a.state->read_from = read_from;
  }
  note_began(*a.state, CcStage::early);
}

// Hot neighbours that are sampled, of vertices [begin, end): the first one, then the second.
template <bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_hot_samples(ListsView lists, graph::Vertex begin, graph::Vertex end, ComponentArrays a) {
  std::uint32_t joined = 0;
  for (std::uint64_t block = begin / kWarpLanes + warp_of_grid(); block * kWarpLanes < end;
       block += warps_of_grid()) {
    const std::uint64_t v = block * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    const auto vertex = static_cast<graph::Vertex>(v);
    const HotSamples samples = hot_samples_of<kCount>(lists, vertex, v < end, a.reads + CcStage::samples);
    for (const graph::Vertex other : samples.of) {
      if (other != vertex) {
        joined += join(a.parents, vertex, other) ? 1 : 0;
      }
      __syncwarp();
    }
  }
  add_joined(a.state->joined, joined);
}

// First neighbours that lie side by side, those of 32 vertices by a warp.
template <bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_firsts(ListsView lists, graph::Vertex vertices, ComponentArrays a) {
  std::uint32_t joined = 0;
  const std::uint64_t blocks = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes;
  for (std::uint64_t block = warp_of_grid(); block < blocks; block += warps_of_grid()) {
    const std::uint64_t v = block * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    const auto vertex = static_cast<graph::Vertex>(v);
    const bool mine = v < vertices && degree_of(lists, vertex) > 0 && hot_of(lists, vertex).count == 0;
    if (!__any_sync(kAllLanes, mine)) {
      continue;
    }
    const graph::Vertex first = first_of<kCount>(lists, block, mine, a.reads + CcStage::early);
    if (mine) {
      joined += join(a.parents, vertex, first) ? 1 : 0;
    }
  }
  add_joined(a.state->joined, joined);
}

// First neighbours and second ones over the link, of each vertex by a pair of lanes. Some warps join while
// others wait for what they read.
template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_samples(ListsView lists, graph::Vertex vertices, ComponentArrays a) {
  note_began(*a.state, CcStage::samples);
  const std::uint64_t turns = (std::uint64_t{vertices} * kPairLanes + kWarpLanes - 1) / kWarpLanes;
  bool sampled = false;  // the same in all of a warp
  for (std::uint64_t turn = warp_of_grid(); turn < turns; turn += warps_of_grid()) {
    const std::uint64_t v = (turn * kWarpLanes + cuda::lane_of_warp()) / kPairLanes;
    const auto vertex = static_cast<graph::Vertex>(v);
    const bool there = v < vertices && is_sampled(a, vertex);
    if (!__any_sync(kAllLanes, there)) {
      continue;
    }
    sampled = true;
    const graph::Vertex other = sample_of<kCoding, kCount>(lists, vertex, there, a.reads + CcStage::samples);
    if (other != vertex) {
      join(a.parents, vertex, other);
    }
    __syncwarp();
  }
  if (sampled) {
    a.state->sampled = 1;
  }
}

// The lists of a phase, a warp each, so that addresses rise; then what was handed out of them.
template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_phase(ListsView lists, ListPhases phases, int phase, ComponentArrays a) {
  if (!phase_pays(phases, phase, a.state->joined)) {
    return;
  }
  const graph::Vertex first = phases.begins[phase];
  const graph::Vertex last = phases.begins[phase + 1];
  Join join{a.parents};
  for (std::uint64_t v = first + std::uint64_t{warp_of_grid()}; v < last; v += warps_of_grid()) {
    visit_list<kCoding, kCount>(lists, static_cast<graph::Vertex>(v),
                                {a.pieces, a.state->pieces + phase, long_list(last - first)},
                                a.reads + CcStage::early, join);
  }
  add_joined(a.state->joined + phase + 1, join.joined);
  if (cuda::thread_of_grid() == 0) {
    a.state->read_to = last;
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_phase_pieces(ListsView lists, ListPhases phases, int phase, ComponentArrays a) {
  const graph::Vertex first = phases.begins[phase];
  const HandOut out{a.pieces, nullptr, long_list(phases.begins[phase + 1] - first)};
  Join join{a.parents};
  visit_pieces<kCoding, kCount>(lists, out, a.state->pieces[phase], a.reads + CcStage::early, join);
  add_joined(a.state->joined + phase + 1, join.joined);
}

// Whether anything was joined before the samples over the link.
__device__ inline bool is_joined(const ComponentState& state) {
  return state.joined[0] > 0 || state.joined[1] > 0;
}

// Whether samples are behind it and nobody was asked for any: then every list was read or is in the largest
// part, and all hang from their roots since before the samples.
__device__ inline bool is_through(const ComponentState& state) {
  return state.sampled == 0 && is_joined(state);
}

// Every vertex hangs from its root, which is copied to `roots` too, unless that is null: after the last
// stage.
__global__ static void __launch_bounds__(kLeanThreads)
    settle(ComponentArrays a, graph::Vertex vertices, graph::Vertex* roots, bool after_samples) {
  if (roots == nullptr) {
    note_began(*a.state, kCcStages);
  }
  if (after_samples ? is_through(*a.state) : !is_joined(*a.state)) {
    return;
  }
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    graph::Vertex root = a.parents[v];
    for (graph::Vertex above = __ldcg(a.parents + root); above != root; above = __ldcg(a.parents + root)) {
      root = above;
    }
    a.parents[v] = root;
    if (roots != nullptr) {
      roots[v] = root;
    }
  }
}

// One block: the root that most of the sampled vertices have; of several the lowest. `sure`: as
// surely_sampled.
__global__ static void __launch_bounds__(kSampledVertices)
    find_largest(ComponentArrays a, graph::Vertex vertices, std::uint32_t sure, bool after_samples) {
  __shared__ graph::Vertex roots[kSampledVertices];
  __shared__ unsigned long long best;
  if (after_samples ? is_through(*a.state) : !is_joined(*a.state)) {
    return;
  }
  const std::uint32_t i = threadIdx.x;
  roots[i] = a.roots[sampled_vertex(i, vertices)];
  if (i == 0) {
    best = 0;
  }
  __syncthreads();
  unsigned long long same = 0;
  for (std::uint32_t other = 0; other < kSampledVertices; ++other) {
    same += roots[other] == roots[i] ? 1 : 0;
  }
  // Most of them first, then the lowest root.
  atomicMax(&best, same << 32 | (0xffffffffU - roots[i]));
  __syncthreads();
  if (i == 0) {
    const graph::Vertex before = a.state->largest;
    a.state->largest = 0xffffffffU - static_cast<std::uint32_t>(best);
    a.state->sure = before == kNoComponent || a.roots[before] == a.state->largest ? sure : 0;
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_outside(ListsView lists, graph::Vertex vertices, ComponentArrays a) {
  note_began(*a.state, CcStage::rest);
  if (is_through(*a.state)) {
    return;
  }
  Join join{a.parents};
  const std::uint32_t words = (vertices + kWarpLanes - 1) / kWarpLanes;
  for (std::uint32_t word = warp_of_grid(); word < words; word += warps_of_grid()) {
    visit_word<kCoding, kCount>(lists, word, outside_of(lists, word, vertices, a),
                                {a.pieces, a.state->pieces + kListPhases}, a.reads + CcStage::rest, join);
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads) join_pieces(ListsView lists, ComponentArrays a) {
  Join join{a.parents};
  visit_pieces<kCoding, kCount>(lists, {a.pieces, nullptr}, a.state->pieces[kListPhases],
                                a.reads + CcStage::rest, join);
}

}  // namespace grainscope::lean

#endif
