// Connected components by sampling (run.hpp): trees of vertices, how they are joined, and the stages of the
// one kernel that does so.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/lean/run.hpp"
#include "lists.cuh"
#include "team.cuh"

namespace grainscope::lean {

// What stages tell each other.
struct ComponentState {
  unsigned long long hung;                     // vertices of this GPU's that hang from first neighbours
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
  graph::Vertex* parents;    // [V]: no higher than the vertex; a root is its own
  graph::Vertex* roots;      // [V]: as the last stage left them
  std::uint32_t* root_bits;  // [words] a bit each: which vertices were roots
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

// Calls `body(vertex)` for those of vertices [begin, end) that are this GPU's, each by a lane.
template <class Words, class Body>
__device__ void for_vertices(graph::Vertex begin, graph::Vertex end, const Words& words, const Body& body) {
  for (std::uint64_t word = words.from(begin / kWarpLanes) + words.step() * warp_of_grid();
       word * kWarpLanes < end; word += words.step() * warps_of_grid()) {
    const std::uint64_t v = word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    if (v >= begin && v < end) {
      body(static_cast<graph::Vertex>(v));
    }
  }
}

// For vertices below `vertices` that have a bit, several of a lane at once: `use(word, vertex, has, value)`
// by all lanes, with the value that `load(vertex)` had for those that have one. Every word with a bit comes.
template <class Load, class Use>
__device__ void for_bits(const std::uint32_t* bits, graph::Vertex vertices, const Load& load,
                         const Use& use) {
  constexpr int kAtOnce = 4;
  const std::uint32_t words = (vertices + kWarpLanes - 1) / kWarpLanes;
  const auto lane = static_cast<std::uint32_t>(cuda::lane_of_warp());
  for (std::uint32_t first = warp_of_grid(); first < words; first += kAtOnce * warps_of_grid()) {
    std::uint32_t of_word[kAtOnce];
    graph::Vertex value[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const std::uint32_t word = first + static_cast<std::uint32_t>(i) * warps_of_grid();
      of_word[i] = word < words ? bits[word] : 0;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const graph::Vertex vertex =
          (first + static_cast<std::uint32_t>(i) * warps_of_grid()) * kWarpLanes + lane;
      of_word[i] = vertex < vertices ? of_word[i] >> lane & 1 : 0;
      value[i] = of_word[i] != 0 ? load(vertex) : 0;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const std::uint32_t word = first + static_cast<std::uint32_t>(i) * warps_of_grid();
      if (__any_sync(kAllLanes, of_word[i] != 0)) {
        use(word, word * kWarpLanes + lane, of_word[i] != 0, value[i]);
      }
    }
  }
}

// The kernels of connected components, in the order in which they are launched. Those that have nothing to do
// find that out themselves.

// A vertex without a list, from `lists_end` on, is its own root whatever is joined, and its GPU alone need
// know. So is every other where none hangs from its first neighbour.
template <class Words>
__global__ static void __launch_bounds__(kLeanThreads)
    clear_components(ComponentArrays a, graph::Vertex vertices, graph::Vertex lists_end, bool hang,
                     graph::Vertex read_from, Words words) {
  if (!hang) {
    for_vertices(0, lists_end, AllWords{}, [&](graph::Vertex vertex) { a.parents[vertex] = vertex; });
  }
  for_vertices(lists_end, vertices, words, [&](graph::Vertex vertex) { a.parents[vertex] = vertex; });
  if (cuda::thread_of_grid() == 0) {
    *a.state = {};
    a.state->largest = kNoComponent;
    a.state->read_from = read_from;
  }
  note_began(*a.state, CcStage::early);
}

// Whether a vertex, which is `there`, has a first neighbour that lies with those of others.
__device__ inline bool has_first(const ListsView& lists, graph::Vertex vertex, bool there) {
  return there && degree_of(lists, vertex) > 0 && hot_of(lists, vertex).count == 0;
}

// What first neighbours of a word's vertices tell: what each hangs from, and of those that are roots then a
// bit, and in `roots` what is to be joined to them.
struct WordOfFirsts {
  std::uint32_t word;
  std::uint32_t root_bits;
  graph::Vertex vertex;  // this lane's
  bool there;
  graph::Vertex parent;
  graph::Vertex joined;
  // By all lanes.
  __device__ void note(const ComponentArrays& a) const {
    if (there) {
      a.parents[vertex] = parent;
      if (parent == vertex) {
        a.roots[vertex] = joined;
      }
    }
    if (cuda::lane_of_warp() == 0) {
      a.root_bits[word] = root_bits;
    }
  }
};

// First neighbours that lie side by side, those of 32 vertices by a warp. Each vertex hangs from its own
// where that is lower, which no other vertex decides: so it is stored, and nobody waited for. `tell`: other
// GPUs know the same.
template <bool kCount, class Words, class Tell>
__global__ void __launch_bounds__(kLeanThreads)
    hang_from_firsts(ListsView lists, graph::Vertex vertices, ComponentArrays a, Words words, Tell tell) {
  std::uint32_t joined = 0;
  const std::uint64_t blocks = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes;
  for (std::uint64_t block = words.from(0) + words.step() * warp_of_grid(); block < blocks;
       block += words.step() * warps_of_grid()) {
    const std::uint64_t v = block * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    const auto vertex = static_cast<graph::Vertex>(v);
    const bool mine = has_first(lists, vertex, v < vertices);
    graph::Vertex first = vertex;
    if (__any_sync(kAllLanes, mine)) {
      const graph::Vertex read = first_of<kCount>(lists, block, mine, a.reads + CcStage::early);
      first = mine ? read : vertex;
    }
    joined += first < vertex ? 1 : 0;
    const graph::Vertex parent = min(first, vertex);
    const unsigned roots = __ballot_sync(kAllLanes, v < vertices && parent == vertex);
    const WordOfFirsts told{static_cast<std::uint32_t>(block), roots, vertex, v < vertices, parent, first};
    told.note(a);
    tell.note(told);
  }
  add_joined(&a.state->hung, joined);
}

// Who else is told of first neighbours.
struct TellNobody {
  __device__ void note(const WordOfFirsts& /*word*/) const {}
};

// First neighbours that are higher, once all others hang from theirs: `hung`, on all GPUs.
__device__ inline void join_higher_firsts(const ComponentArrays& a, graph::Vertex vertices,
                                          unsigned long long hung) {
  if (cuda::thread_of_grid() == 0) {
    atomicAdd(a.state->joined, hung);
  }
  std::uint32_t joined = 0;
  for_bits(
      a.root_bits, vertices, [&](graph::Vertex vertex) { return a.roots[vertex]; },
      [&](std::uint32_t /*word*/, graph::Vertex vertex, bool has, graph::Vertex first) {
        if (has && first != vertex) {
          joined += join(a.parents, vertex, first) ? 1 : 0;
        }
        __syncwarp();
      });
  add_joined(a.state->joined, joined);
}
__global__ static void __launch_bounds__(kLeanThreads)
    join_higher(ComponentArrays a, graph::Vertex vertices) {
  join_higher_firsts(a, vertices, a.state->hung);
}

// Hot neighbours that are sampled, of vertices [begin, end): the first one, then the second.
template <bool kCount, class Words>
__global__ void __launch_bounds__(kLeanThreads)
    join_hot_samples(ListsView lists, graph::Vertex begin, graph::Vertex end, ComponentArrays a,
                     Words words) {
  std::uint32_t joined = 0;
  for (std::uint64_t block = words.from(begin / kWarpLanes) + words.step() * warp_of_grid();
       block * kWarpLanes < end; block += words.step() * warps_of_grid()) {
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

// First neighbours and second ones over the link, of each vertex by a pair of lanes. Some warps join while
// others wait for what they read.
template <Coding kCoding, bool kCount, class Words>
__global__ void __launch_bounds__(kLeanThreads)
    join_samples(ListsView lists, graph::Vertex vertices, ComponentArrays a, Words words) {
  note_began(*a.state, CcStage::samples);
  const std::uint64_t turns = (std::uint64_t{vertices} * kPairLanes + kWarpLanes - 1) / kWarpLanes;
  bool sampled = false;  // the same in all of a warp
  for (std::uint64_t i = warp_of_grid();; i += warps_of_grid()) {
    const std::uint64_t turn = words.word(i / kPairLanes) * kPairLanes + i % kPairLanes;
    if (turn >= turns) {
      break;
    }
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
template <Coding kCoding, bool kCount, class Words>
__device__ void read_phase(const ListsView& lists, const ListPhases& phases, int phase,
                           const ComponentArrays& a, const Words& words) {
  const graph::Vertex first = phases.begins[phase];
  const graph::Vertex last = phases.begins[phase + 1];
  Join join{a.parents};
  for (std::uint64_t v = first + words.from(0) + std::uint64_t{warp_of_grid()} * words.step(); v < last;
       v += warps_of_grid() * words.step()) {
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
__device__ void read_phase_pieces(const ListsView& lists, const ListPhases& phases, int phase,
                                  const ComponentArrays& a, unsigned long long pieces) {
  const graph::Vertex first = phases.begins[phase];
  const HandOut out{a.pieces, nullptr, long_list(phases.begins[phase + 1] - first)};
  Join join{a.parents};
  visit_pieces<kCoding, kCount>(lists, out, pieces, a.reads + CcStage::early, join);
  add_joined(a.state->joined + phase + 1, join.joined);
}

template <Coding kCoding, bool kCount, class Words>
__global__ void __launch_bounds__(kLeanThreads)
    join_phase(ListsView lists, ListPhases phases, int phase, ComponentArrays a, Words words) {
  if (phase_pays(phases, phase, a.state->joined)) {
    read_phase<kCoding, kCount>(lists, phases, phase, a, words);
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_phase_pieces(ListsView lists, ListPhases phases, int phase, ComponentArrays a) {
  read_phase_pieces<kCoding, kCount>(lists, phases, phase, a, a.state->pieces[phase]);
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

// Every vertex of this GPU's hangs from its root, which is copied to `roots` too, unless that is null: after
// the last stage. What is passed is hung one step higher, so that a long way is halved by each that climbs
// it.
template <class Words>
__global__ static void __launch_bounds__(kLeanThreads)
    settle(ComponentArrays a, graph::Vertex vertices, graph::Vertex* roots, bool after_samples, Words words) {
  if (roots == nullptr) {
    note_began(*a.state, kCcStages);
  }
  if (after_samples ? is_through(*a.state) : !is_joined(*a.state)) {
    return;
  }
  for_vertices(0, vertices, words, [&](graph::Vertex vertex) {
    graph::Vertex below = vertex;
    graph::Vertex root = a.parents[vertex];
    for (graph::Vertex above = __ldcg(a.parents + root); above != root; above = __ldcg(a.parents + root)) {
      if (below != vertex) {
        atomicMin(a.parents + below, above);  // its own lane may have hung it from the root since
      }
      below = root;
      root = above;
    }
    a.parents[vertex] = root;
    if (roots != nullptr) {
      roots[vertex] = root;
    }
  });
}

// One block: the root that most of the sampled vertices have; of several the lowest. `sure`: as
// surely_sampled.
__global__ static void __launch_bounds__(kSampledVertices)
    find_largest(ComponentArrays a, graph::Vertex vertices, graph::Vertex lists_end, std::uint32_t sure,
                 bool after_samples) {
  __shared__ graph::Vertex roots[kSampledVertices];
  __shared__ unsigned long long best;
  if (after_samples ? is_through(*a.state) : !is_joined(*a.state)) {
    return;
  }
  const auto root_of = [&](graph::Vertex vertex) {  // which need not be this GPU's
    if (vertex < lists_end) {
      for (graph::Vertex above = __ldcg(a.parents + vertex); above != vertex;
           above = __ldcg(a.parents + vertex)) {
        vertex = above;
      }
    }
    return vertex;
  };
  const std::uint32_t i = threadIdx.x;
  roots[i] = root_of(sampled_vertex(i, vertices));
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
    a.state->sure = before == kNoComponent || root_of(before) == a.state->largest ? sure : 0;
  }
}

template <Coding kCoding, bool kCount, class Words>
__global__ void __launch_bounds__(kLeanThreads)
    join_outside(ListsView lists, graph::Vertex vertices, ComponentArrays a, Words words) {
  note_began(*a.state, CcStage::rest);
  if (is_through(*a.state)) {
    return;
  }
  Join join{a.parents};
  const std::uint32_t all = (vertices + kWarpLanes - 1) / kWarpLanes;
  for (std::uint32_t word = words.from(0) + words.step() * warp_of_grid(); word < all;
       word += words.step() * warps_of_grid()) {
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

// Each vertex a component of its own: what stands before the first run, and in place of an answer that is
// spoiled, since kernels climb whatever stands there.
__global__ static void __launch_bounds__(kLeanThreads)
    part_all(graph::Vertex* parents, graph::Vertex vertices) {
  for_vertices(0, vertices, AllWords{}, [&](graph::Vertex vertex) { parents[vertex] = vertex; });
}

// What a GPU works on beside the lists, and the stages in their order. Kernels that have nothing to do find
// that out themselves: the host knows nothing of the joins.
namespace {

using graph::Vertex;

class ComponentMemory {
 public:
  ComponentMemory(const PlacedView& lists, int gpu)
      : parents_(gpu, lists.vertices),
        roots_(gpu, lists.vertices),
        root_bits_(gpu, (lists.lists_end + kWarpLanes - 1) / kWarpLanes + 1),
        pieces_(gpu, lists.most_pieces),
        state_(gpu, 1),
        reads_(gpu, kCcStages),
        grid_(static_cast<unsigned>(cuda::sm_count(gpu)) * kBlocksPerSm) {
    const cuda::Stream stream;
    spoil(stream);
    stream.synchronize();
  }

  void spoil(const cuda::Stream& stream) const {
    part_all<<<grid_, kLeanThreads, 0, stream.get()>>>(
        parents_.data(), static_cast<Vertex>(parents_.bytes() / sizeof(Vertex)));
    cuda::check_launch("part_all");
  }
  [[nodiscard]] ComponentArrays arrays() const {
    return {parents_.data(), roots_.data(), root_bits_.data(), state_.data(), pieces_.data(), reads_.data()};
  }
  [[nodiscard]] const cuda::DeviceArray<ReadNote>& reads() const { return reads_; }
  // Every vertex may be one.
  void mark_all_roots(const cuda::Stream& stream) const { root_bits_.fill_bytes(0xff, stream); }
  [[nodiscard]] std::vector<LevelResult> stages() const {
    const ComponentState state = state_.read(1).front();
    std::vector<LevelResult> stages(kCcStages);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].seconds = static_cast<double>(state.began_ns[i + 1] - state.began_ns[i]) * 1e-9;
    }
    return stages;
  }
  [[nodiscard]] std::vector<Vertex> parents(Vertex vertices) const { return parents_.read(vertices); }
  [[nodiscard]] unsigned grid() const { return grid_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return parents_.bytes() + roots_.bytes() + root_bits_.bytes() + pieces_.bytes();
  }

 private:
  cuda::DeviceArray<Vertex> parents_;
  cuda::DeviceArray<Vertex> roots_;
  cuda::DeviceArray<std::uint32_t> root_bits_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<ComponentState> state_;
  cuda::DeviceArray<ReadNote> reads_;
  unsigned grid_;
};

// The stages on one GPU, of the lists of some words.
template <Coding kCoding, bool kCount, class Words, class Tell>
class Stages {
 public:
  Stages(const PlacedView& lists, const ComponentMemory& memory, const Words& words, const Tell& tell,
         const cuda::Stream& stream)
      : lists_(lists),
        a_(memory.arrays()),
        words_(words),
        tell_(tell),
        grid_(memory.grid()),
        stream_(stream.get()) {}

  void clear() const {
    clear_components<<<grid_, kLeanThreads, 0, stream_>>>(a_, lists_.vertices, lists_.lists_end, has_firsts(),
                                                          lists_.phases.begins[0], words_);
  }
  // What is joined before any list is read: first neighbours, side by side or hot. Between these other GPUs,
  // if any, must have told theirs, and `join_higher` is behind them.
  void hang_from_firsts() const {
    if (has_firsts()) {
      lean::hang_from_firsts<kCount>
          <<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, lists_.lists_end, a_, words_, tell_);
    }
  }
  void join_higher() const {
    if (has_firsts()) {
      lean::join_higher<<<grid_, kLeanThreads, 0, stream_>>>(a_, lists_.lists_end);
    }
  }
  // As many vertices at a time as are through. Nothing here waits for the link: joined all at once they would
  // climb trees that are still growing, and take longer.
  void join_hot() const {
    const Vertex all = lists_.out.hot_offsets != nullptr ? lists_.lists_end : 0;
    Vertex begin = 0;
    for (Vertex end = std::min(kFirstJoined, all); begin < end;
         end = static_cast<Vertex>(std::min<std::uint64_t>(std::uint64_t{end} * 2, all))) {
      join_hot_samples<kCount><<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, begin, end, a_, words_);
      begin = end;
    }
  }
  [[nodiscard]] int phases() const {
    int phases = 0;
    while (phases < kListPhases && lists_.phases.lines[static_cast<std::size_t>(phases)] > 0) {
      ++phases;
    }
    return phases;
  }
  void read_phase(int phase) const {
    join_phase<kCoding, kCount>
        <<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, lists_.phases, phase, a_, words_);
    join_phase_pieces<kCoding, kCount>
        <<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, lists_.phases, phase, a_);
  }
  void sample() const {
    find_the_largest(false);
    join_samples<kCoding, kCount>
        <<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, lists_.lists_end, a_, words_);
  }
  void read_outside() const {
    find_the_largest(true);
    join_outside<kCoding, kCount>
        <<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, lists_.lists_end, a_, words_);
    join_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream_>>>(lists_.out, a_);
  }
  void end() const {
    settle<<<grid_, kLeanThreads, 0, stream_>>>(a_, lists_.lists_end, nullptr, true, words_);
  }

 private:
  static constexpr Vertex kFirstJoined = 1 << 14;

  [[nodiscard]] bool has_firsts() const { return lists_.out.firsts != nullptr; }
  void find_the_largest(bool after_samples) const {
    const auto sure = static_cast<std::uint32_t>(surely_sampled(lists_.out.id_bits));
    settle<<<grid_, kLeanThreads, 0, stream_>>>(a_, lists_.lists_end, a_.roots, after_samples, words_);
    find_largest<<<1, kSampledVertices, 0, stream_>>>(a_, lists_.vertices, lists_.lists_end, sure,
                                                      after_samples);
  }

  const PlacedView& lists_;
  ComponentArrays a_;
  Words words_;
  Tell tell_;
  unsigned grid_;
  cudaStream_t stream_;
};

}  // namespace

// Connected components by sampling: first neighbours, some whole lists, samples, then what is not yet in
// the largest one.
namespace {

class CudaLeanCc final : public graph::Traversal {
 public:
  explicit CudaLeanCc(const LeanLists& lists)
      : lists_(view_of(lists)), guard_(lists.gpu()), memory_(lists_, lists.gpu()) {}

  double run(Vertex /*source*/) override {
    start_.record(stream_);
    if (stages_) {
      stages_->launch(stream_);
    } else {
      submit<false>();  // and loads the kernels, for which a stream must not be captured
    }
    stop_.record(stream_);
    stream_.synchronize();
    if (!stages_ && !cuda::is_counted()) {  // a profiler's ranges are of launches
      stages_.emplace(cuda::Graph(stream_, [&] { submit<false>(); }));
    }
    return cuda::elapsed_s(start_, stop_);
  }
  void spoil() override {
    memory_.spoil(stream_);
    stream_.synchronize();
  }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    memory_.reads().fill_bytes(0, stream_);
    submit<true>();
    stream_.synchronize();
    return reads_of(memory_.reads().read(kCcStages));
  }
  [[nodiscard]] std::vector<LevelResult> levels() const override { return memory_.stages(); }
  [[nodiscard]] std::vector<Vertex> answer() const override { return memory_.parents(lists_.vertices); }
  [[nodiscard]] const void* answer_on_gpu() const override { return memory_.arrays().parents; }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return memory_.bytes(); }

 private:
  template <bool kCount>
  void submit() {
    lists_.out.coding == Coding::compressed ? submit<Coding::compressed, kCount>()
                                            : submit<Coding::plain, kCount>();
    cuda::check_launch("the kernels of connected components");
  }
  template <Coding kCoding, bool kCount>
  void submit() {
    const Stages<kCoding, kCount, AllWords, TellNobody> stages(lists_, memory_, {}, {}, stream_);
    stages.clear();
    stages.hang_from_firsts();
    stages.join_higher();
    stages.join_hot();
    for (int phase = 0; phase < stages.phases(); ++phase) {
      stages.read_phase(phase);
    }
    stages.sample();
    stages.read_outside();
    stages.end();
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  ComponentMemory memory_;
  cuda::Stream stream_;
  std::optional<cuda::GraphExec> stages_;  // once they have run
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

// The same by several GPUs. First neighbours are read by one of them, which stores in the memory of all what
// hangs from them, so their forests tell the same. What further lists tell, a GPU joins in its own forest,
// and the others look it up after each stage and phase. A forest stands still while it is looked at: one that
// grows is not whole. A root is the lowest vertex of its part, so forests that tell the same have the same
// roots, and what one tells since then stands at these. Only a GPU's own vertices hang from their roots at
// the end of a stage.
namespace {

struct TellOthers {
  Others<ComponentArrays> others;
  __device__ void note(const WordOfFirsts& word) const {
    for (int i = 0; i < others.count; ++i) {
      word.note(others.of[i]);
    }
  }
};

struct ForestsOfTeam : TeamPlace {
  struct Forest {
    const Vertex* parents;
    const ComponentState* state;
  };
  Others<Forest> forests;
  Vertex vertices;  // that have lists
  // So many GPUs after this one.
  [[nodiscard]] __device__ const Forest& after(unsigned apart) const {
    const unsigned gpu = (dealt.of + apart) % dealt.among;
    return forests.of[gpu < dealt.of ? gpu : gpu - 1];
  }
};

// Where vertices that were roots hang in another GPU's forest: into `roots`, which nothing else needs then.
__device__ inline void look_at_forest(const ComponentArrays& a, const ForestsOfTeam::Forest& forest,
                                      Vertex vertices) {
  for_bits(
      a.root_bits, vertices, [&](Vertex vertex) { return __ldcg(forest.parents + vertex); },
      [&](std::uint32_t /*word*/, Vertex vertex, bool has, Vertex parent) {
        if (has) {
          a.roots[vertex] = parent;
        }
      });
  if (cuda::thread_of_grid() == 0 && __ldcg(&forest.state->sampled) != 0) {
    a.state->sampled = 1;
  }
}

// What was seen there, by the same warps; what that makes one counts as joined in `joined`.
__device__ inline void join_seen(const ComponentArrays& a, Vertex vertices, unsigned long long* joined) {
  std::uint32_t count = 0;
  for_bits(
      a.root_bits, vertices, [&](Vertex vertex) { return a.roots[vertex]; },
      [&](std::uint32_t /*word*/, Vertex vertex, bool has, Vertex parent) {
        if (has && parent != vertex && parent != __ldcg(a.parents + vertex)) {
          count += join(a.parents, vertex, parent) ? 1 : 0;
        }
        __syncwarp();
      });
  add_joined(joined, count);
}

// Which of them are still.
__device__ inline void mark_roots(const ComponentArrays& a, Vertex vertices) {
  for_bits(
      a.root_bits, vertices, [&](Vertex vertex) { return __ldcg(a.parents + vertex); },
      [&](std::uint32_t word, Vertex vertex, bool has, Vertex parent) {
        const unsigned roots = __ballot_sync(kAllLanes, has && parent == vertex);
        if (cuda::lane_of_warp() == 0) {
          a.root_bits[word] = roots;
        }
      });
}

// After each turn twice as many GPUs know of each other. False: some did not come.
__device__ inline bool join_forests(TeamPlace::Meeting& meeting, const ForestsOfTeam& place,
                                    const ComponentArrays& a, unsigned long long* joined) {
  for (unsigned apart = 1; apart < place.dealt.among; apart *= 2) {
    if (!meeting.all()) {
      return false;
    }
    look_at_forest(a, place.after(apart), place.vertices);
    if (!meeting.all()) {
      return false;
    }
    join_seen(a, place.vertices, joined);
  }
  meeting.here();
  mark_roots(a, place.vertices);
  meeting.here();
  return true;
}

// Of all GPUs.
struct HungTotal {
  unsigned long long hung;
  __device__ void join(const HungTotal& other) { hung += other.hung; }
};

// Once all GPUs have told what hangs from first neighbours.
__global__ static void __launch_bounds__(kLeanThreads)
    join_higher_of_team(ComponentArrays a, Vertex vertices, TeamPlace place) {
  TeamPlace::Meeting meeting(place);
  const auto own = [&] { return HungTotal{__ldcg(&a.state->hung)}; };
  if (meeting.tell(own)) {
    join_higher_firsts(a, vertices, meeting.total(own).hung);
  }
}

// What else is joined before the samples, once each GPU has joined what is hot of its words: whole lists,
// phase by phase.
template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_early(PlacedView lists, ComponentArrays a, ForestsOfTeam place) {
  TeamPlace::Meeting meeting(place);
  if (lists.out.hot_offsets == nullptr) {
    mark_roots(a, place.vertices);
    meeting.here();
  } else if (!join_forests(meeting, place, a, a.state->joined)) {
    return;
  }
  for (int phase = 0; phase < kListPhases; ++phase) {
    if (!phase_pays(lists.phases, phase, a.state->joined)) {
      continue;
    }
    read_phase<kCoding, kCount>(lists.out, lists.phases, phase, a, place.dealt);
    meeting.here();
    read_phase_pieces<kCoding, kCount>(lists.out, lists.phases, phase, a, __ldcg(a.state->pieces + phase));
    if (!join_forests(meeting, place, a, a.state->joined + phase + 1)) {
      return;
    }
  }
}

__global__ static void __launch_bounds__(kLeanThreads) join_stage(ComponentArrays a, ForestsOfTeam place) {
  TeamPlace::Meeting meeting(place);
  join_forests(meeting, place, a, a.state->joined);
}

class TeamCc final : public graph::Traversal {
 public:
  explicit TeamCc(LeanTeam team) : run_(team), vertices_(run_.view(0).vertices) {
    run_.each([&](std::size_t i, const cuda::Stream&) {
      memories_.push_back(std::make_unique<ComponentMemory>(run_.view(i), run_.gpu(i)));
    });
  }

  double run(Vertex /*source*/) override {
    run_.begin();
    if (stages_) {
      stages_->launch(run_.stream(0));
    } else {
      submit<false>();  // and loads the kernels, for which a stream must not be captured
    }
    const double seconds = run_.finish();
    boards_.require_met();
    if (!stages_) {
      stages_.emplace(run_.graph_of([&] { submit<false>(); }));
    }
    return seconds;
  }
  void spoil() override { spoil_all(run_, memories_); }
  std::vector<LinkReads> count(Vertex /*source*/) override {
    run_.each(
        [&](std::size_t i, const cuda::Stream& stream) { memories_[i]->reads().fill_bytes(0, stream); });
    submit<true>();
    run_.synchronize();
    boards_.require_met();
    std::vector<LinkReads> reads(kCcStages);
    for (const auto& memory : memories_) {
      const std::vector<ReadNote> notes = memory->reads().read(kCcStages);
      for (std::size_t stage = 0; stage < reads.size(); ++stage) {
        add_reads(notes[stage], reads[stage]);
      }
    }
    return reads;
  }
  // By the first GPU's clock.
  [[nodiscard]] std::vector<LevelResult> levels() const override { return memories_.front()->stages(); }
  [[nodiscard]] std::vector<Vertex> answer() const override {
    return run_.gathered<Vertex>([&](std::size_t i) { return memories_[i]->parents(vertices_); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return bytes_of(memories_); }

 private:
  template <bool kCount>
  void submit() {
    run_.view(0).out.coding == Coding::compressed ? submit<Coding::compressed, kCount>()
                                                  : submit<Coding::plain, kCount>();
    cuda::check_launch("the kernels of connected components by several GPUs");
  }

  template <Coding kCoding, bool kCount>
  void submit() {
    std::vector<Stages<kCoding, kCount, DealtWords, TellOthers>> stages;
    for (std::size_t i = 0; i < run_.size(); ++i) {
      const TellOthers tell{
          run_.others<ComponentArrays>(i, [&](std::size_t other) { return memories_[other]->arrays(); })};
      stages.emplace_back(run_.view(i), *memories_[i], run_.words(i), tell, run_.stream(i));
    }
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].clear(); });
    boards_.clear();  // behind it nobody clears what others tell
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].hang_from_firsts(); });
    if (run_.view(0).out.firsts != nullptr) {
      boards_.launch(join_higher_of_team, [&](std::size_t i) {
        return std::make_tuple(memories_[i]->arrays(), run_.view(i).lists_end, boards_.place(i, 0));
      });
    } else {
      run_.each([&](std::size_t i, const cuda::Stream& stream) { memories_[i]->mark_all_roots(stream); });
    }
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].join_hot(); });
    boards_.launch(join_early<kCoding, kCount>, [&](std::size_t i) {
      return std::make_tuple(run_.view(i), memories_[i]->arrays(), place(i, 1));
    });
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].sample(); });
    join_stages(2);
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].read_outside(); });
    join_stages(3);
    run_.each([&](std::size_t i, const cuda::Stream&) { stages[i].end(); });
  }

  [[nodiscard]] ForestsOfTeam place(std::size_t i, std::size_t kernel) const {
    return {boards_.place(i, kernel),
            run_.others<ForestsOfTeam::Forest>(i,
                                               [&](std::size_t other) {
                                                 const ComponentArrays a = memories_[other]->arrays();
                                                 return ForestsOfTeam::Forest{a.parents, a.state};
                                               }),
            run_.view(i).lists_end};
  }
  void join_stages(std::size_t kernel) {
    boards_.launch(join_stage,
                   [&](std::size_t i) { return std::make_tuple(memories_[i]->arrays(), place(i, kernel)); });
  }

  TeamRun run_;
  Vertex vertices_;
  TeamBoards boards_{run_, 4, "connected components"};
  std::vector<std::unique_ptr<ComponentMemory>> memories_;
  std::optional<cuda::GraphExec> stages_;  // once they have run
  TeamDrain drain_{run_};
};

void require_components(const LeanLists& lists) {
  if (view_of(lists).out.words != view_of(lists).in.words) {
    throw UsageError("components are those of an undirected graph");
  }
  if (view_of(lists).weighted) {
    throw UsageError("components are those of lists that are placed without weights");
  }
}

}  // namespace

std::unique_ptr<graph::Traversal> make_lean_cc(const LeanLists& lists) {
  require_components(lists);
  return std::make_unique<CudaLeanCc>(lists);
}

std::unique_ptr<graph::Traversal> make_lean_cc(LeanTeam team) {
  if (team.size() == 1) {
    return make_lean_cc(*team.front());
  }
  for (const LeanLists* each : team) {
    require_components(*each);
  }
  return std::make_unique<TeamCc>(team);
}

}  // namespace grainscope::lean
