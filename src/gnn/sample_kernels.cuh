#ifndef GRAINSCOPE_SRC_GNN_SAMPLE_KERNELS_CUH
#define GRAINSCOPE_SRC_GNN_SAMPLE_KERNELS_CUH

// The steps of one hop of neighbour sampling. Sizes that sampling decides are read from device memory, so
// that the host enqueues a whole mini-batch without waiting.

#include <cooperative_groups.h>

#include <cstdint>

#include "../cuda/launch.cuh"
#include "grainscope/gnn/random.hpp"
#include "list_view.hpp"

namespace grainscope::gnn {

namespace cg = cooperative_groups;

inline constexpr int kSampleThreads = 256;

// State of a sampler and the nodes of the mini-batch that it works on; all in device memory.
struct SampleState {
  std::uint32_t* seen = nullptr;      // [words] bit v: v is among the nodes
  std::uint32_t* fresh = nullptr;     // [words] bit v: v was met in this hop for the first time
  std::uint32_t* before = nullptr;    // [words] fresh bits before a word
  std::uint32_t* index_of = nullptr;  // [V] of a seen vertex: where it is among the nodes
  std::uint64_t words = 0;
  graph::Vertex* nodes = nullptr;
  std::uint32_t* nodes_upto = nullptr;
};

// Sources of destination i; none behind the last one.
struct SourcesOf {
  const std::uint64_t* offsets;
  const graph::Vertex* nodes;
  const std::uint32_t* destinations;
  std::uint32_t fanout;
  __host__ __device__ std::uint64_t operator()(std::uint64_t i) const {
    if (i >= *destinations) {
      return 0;
    }
    const std::uint64_t degree = offsets[nodes[i] + std::uint64_t{1}] - offsets[nodes[i]];
    return degree < fanout ? degree : fanout;
  }
};

// Bits that are set in a word.
struct BitsOf {
  const std::uint32_t* words;
  __host__ __device__ std::uint32_t operator()(std::uint64_t i) const {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popc(words[i]));
#else
    return static_cast<std::uint32_t>(__builtin_popcount(words[i]));
#endif
  }
};

// The seeds, which stand in `nodes`, are the first nodes.
__global__ void start_batch(SampleState state, std::uint32_t seeds) {
  for (std::uint64_t i = cuda::thread_of_grid(); i < seeds; i += cuda::threads_of_grid()) {
    const graph::Vertex seed = state.nodes[i];
    state.index_of[seed] = static_cast<std::uint32_t>(i);
    atomicOr(&state.seen[seed / 32], 1U << (seed % 32));
  }
  if (cuda::thread_of_grid() == 0) {
    state.nodes_upto[0] = seeds;
  }
}

template <bool kInterleaved>
__device__ graph::Vertex neighbour(const ListView& lists, std::uint64_t entry) {
  if constexpr (kInterleaved) {
    const EntryPlace place = place_of(entry, static_cast<std::uint32_t>(lists.parts));
    return lists.parts_of[place.part][place.entry];
  } else {
    return lists.parts_of[0][entry];
  }
}

// Floyd's method by a group of lanes, all of whom return with places[0 … count) set: as draw_places does it.
// The lanes draw at once; then each place in turn is looked for among those before it.
template <class Tile>
__device__ void draw_places_together(const Tile& tile, std::uint64_t key, std::uint32_t degree,
                                     std::uint32_t count, std::uint32_t* places) {
  for (std::uint32_t i = tile.thread_rank(); i < count; i += tile.size()) {
    places[i] = random_below(key, i, degree - count + i + 1);
  }
  tile.sync();
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::uint32_t place = places[i];
    bool taken = false;
    for (std::uint32_t j = tile.thread_rank(); j < i; j += tile.size()) {
      taken = taken || places[j] == place;
    }
    if (tile.any(taken)) {
      tile.sync();  // all have read
      if (tile.thread_rank() == 0) {
        places[i] = degree - count + i;
      }
    }
    tile.sync();
  }
}

__device__ inline void mark(const SampleState& state, graph::Vertex vertex) {
  const std::uint32_t word = vertex / 32;
  const std::uint32_t bit = 1U << (vertex % 32);
  const volatile std::uint32_t* const fresh = state.fresh;
  // Most sources were met before: an atomic operation for each would take turns on the hubs.
  if (((state.seen[word] | fresh[word]) & bit) == 0) {
    atomicOr(&state.fresh[word], bit);
  }
}

// Sources of all destinations of a hop, as vertices, and marks what was not seen. kLanes lanes take a
// destination; dynamic shared memory: `fanout` words for each group of lanes.
template <int kLanes, bool kInterleaved>
__global__ void __launch_bounds__(kSampleThreads)
    draw_sources(const __grid_constant__ ListView lists, SampleState state, const std::uint64_t* offsets,
                 std::uint32_t* sources, int hop, std::uint32_t fanout, std::uint64_t key) {
  extern __shared__ std::uint32_t shared_places[];
  const auto tile = cg::tiled_partition<kLanes>(cg::this_thread_block());
  std::uint32_t* const places = shared_places + threadIdx.x / kLanes * fanout;
  const std::uint32_t destinations = state.nodes_upto[hop];
  for (std::uint64_t i = cuda::thread_of_grid() / kLanes; i < destinations;
       i += cuda::threads_of_grid() / kLanes) {
    const graph::Vertex vertex = state.nodes[i];
    const std::uint64_t begin = lists.offsets[vertex];
    const auto degree = static_cast<std::uint32_t>(lists.offsets[vertex + std::uint64_t{1}] - begin);
    const bool draws = degree > fanout;
    if (draws) {
      draw_places_together(tile, vertex_key(key, vertex), degree, fanout, places);
    }
    const std::uint32_t taken = draws ? fanout : degree;
    for (std::uint32_t k = tile.thread_rank(); k < taken; k += tile.size()) {
      const graph::Vertex source = neighbour<kInterleaved>(lists, begin + (draws ? places[k] : k));
      sources[offsets[i] + k] = source;
      mark(state, source);
    }
    tile.sync();  // before the next destination's places
  }
}

// The marked vertices, ascending, become nodes; the marks go. A thread for each word.
__global__ void collect_fresh(SampleState state, int hop) {
  const std::uint32_t base = state.nodes_upto[hop];
  for (std::uint64_t word = cuda::thread_of_grid(); word < state.words; word += cuda::threads_of_grid()) {
    const std::uint32_t marked = state.fresh[word];
    std::uint32_t at = base + state.before[word];
    for (std::uint32_t bits = marked; bits != 0; bits &= bits - 1) {
      const auto vertex = static_cast<graph::Vertex>(word * 32 + (__ffs(static_cast<int>(bits)) - 1));
      state.nodes[at] = vertex;
      state.index_of[vertex] = at++;
    }
    if (marked != 0) {
      state.seen[word] |= marked;
      state.fresh[word] = 0;
    }
    if (word == state.words - 1) {
      state.nodes_upto[hop + 1] = at;
    }
  }
}

// From vertices to indices among the nodes.
__global__ void number_sources(SampleState state, const std::uint64_t* offsets, std::uint32_t* sources,
                               int hop) {
  const std::uint64_t count = offsets[state.nodes_upto[hop]];
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    sources[i] = state.index_of[sources[i]];
  }
}

// Leaves the state as it was before the mini-batch; several threads may clear the same word.
__global__ void forget_batch(SampleState state, int hops) {
  const std::uint32_t count = state.nodes_upto[hops];
  for (std::uint64_t i = cuda::thread_of_grid(); i < count; i += cuda::threads_of_grid()) {
    state.seen[state.nodes[i] / 32] = 0;
  }
}

}  // namespace grainscope::gnn

#endif
