// Connected components by sampling: first neighbours, some whole lists, samples, then what is not yet in
// the largest one.

#include <cuda_runtime.h>

#include <algorithm>
#include <optional>

#include "components_kernels.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device_array.hpp"
#include "grainscope/cuda/graph.hpp"
#include "grainscope/cuda/profile_range.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

// From `listed` on no vertex has a neighbour: it is its own root, whatever is joined.
__global__ void __launch_bounds__(kLeanThreads)
    clear_components(ComponentArrays a, Vertex vertices, Vertex listed, Vertex read_from) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    a.parents[v] = static_cast<Vertex>(v);
    if (v >= listed) {
      a.roots[v] = static_cast<Vertex>(v);
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
    join_hot_samples(ListsView lists, Vertex begin, Vertex end, ComponentArrays a) {
  std::uint32_t joined = 0;
  for (std::uint64_t block = begin / kWarpLanes + warp_of_grid(); block * kWarpLanes < end;
       block += warps_of_grid()) {
    const std::uint64_t v = block * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    const auto vertex = static_cast<Vertex>(v);
    const HotSamples samples = hot_samples_of<kCount>(lists, vertex, v < end, a.reads + CcStage::samples);
    for (const Vertex other : samples.of) {
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
    join_firsts(ListsView lists, Vertex vertices, ComponentArrays a) {
  std::uint32_t joined = 0;
  const std::uint64_t blocks = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes;
  for (std::uint64_t block = warp_of_grid(); block < blocks; block += warps_of_grid()) {
    const std::uint64_t v = block * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp());
    const auto vertex = static_cast<Vertex>(v);
    const bool mine = v < vertices && degree_of(lists, vertex) > 0 && hot_of(lists, vertex).count == 0;
    const Vertex first = first_of<kCount>(lists, block, mine, a.reads + CcStage::early);
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
    join_samples(ListsView lists, Vertex vertices, ComponentArrays a) {
  note_began(*a.state, CcStage::samples);
  const std::uint64_t turns = (std::uint64_t{vertices} * kPairLanes + kWarpLanes - 1) / kWarpLanes;
  for (std::uint64_t turn = warp_of_grid(); turn < turns; turn += warps_of_grid()) {
    const std::uint64_t v = (turn * kWarpLanes + cuda::lane_of_warp()) / kPairLanes;
    const auto vertex = static_cast<Vertex>(v);
    const bool there = v < vertices && is_sampled(a, vertex);
    if (!__any_sync(kAllLanes, there)) {
      continue;
    }
    const Vertex other = sample_of<kCoding, kCount>(lists, vertex, there, a.reads + CcStage::samples);
    if (other != vertex) {
      join(a.parents, vertex, other);
    }
    __syncwarp();
  }
}

// The lists of a phase, a warp each, so that addresses rise; then what was handed out of them.
template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_phase(ListsView lists, ListPhases phases, int phase, ComponentArrays a) {
  if (!phase_pays(phases, phase, a.state->joined)) {
    return;
  }
  const Vertex first = phases.begins[phase];
  const Vertex last = phases.begins[phase + 1];
  Join join{a.parents};
  for (std::uint64_t v = first + std::uint64_t{warp_of_grid()}; v < last; v += warps_of_grid()) {
    visit_list<kCoding, kCount>(lists, static_cast<Vertex>(v),
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
  const Vertex first = phases.begins[phase];
  const HandOut out{a.pieces, nullptr, long_list(phases.begins[phase + 1] - first)};
  Join join{a.parents};
  visit_pieces<kCoding, kCount>(lists, out, a.state->pieces[phase], a.reads + CcStage::early, join);
  add_joined(a.state->joined + phase + 1, join.joined);
}

// Whether anything was joined before the samples over the link.
__device__ bool is_joined(const ComponentState& state) {
  return state.joined[0] > 0 || state.joined[1] > 0;
}

// Every vertex hangs from its root, which is copied to `roots` too, unless that is null: after the last
// stage.
__global__ void __launch_bounds__(kLeanThreads)
    settle(ComponentArrays a, Vertex vertices, Vertex* roots, bool after_samples) {
  if (!after_samples && !is_joined(*a.state)) {
    return;
  }
  if (roots == nullptr) {
    note_began(*a.state, kCcStages);
  }
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    Vertex root = a.parents[v];
    for (Vertex above = __ldcg(a.parents + root); above != root; above = __ldcg(a.parents + root)) {
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
__global__ void __launch_bounds__(kSampledVertices)
    find_largest(ComponentArrays a, Vertex vertices, std::uint32_t sure, bool after_samples) {
  __shared__ Vertex roots[kSampledVertices];
  __shared__ unsigned long long best;
  if (!after_samples && !is_joined(*a.state)) {
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
    const Vertex before = a.state->largest;
    a.state->largest = 0xffffffffU - static_cast<std::uint32_t>(best);
    a.state->sure = before == kNoComponent || a.roots[before] == a.state->largest ? sure : 0;
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_outside(ListsView lists, Vertex vertices, ComponentArrays a) {
  note_began(*a.state, CcStage::rest);
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

class CudaLeanCc final : public LeanCc {
 public:
  explicit CudaLeanCc(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        parents_(lists.gpu(), lists_.vertices),
        roots_(lists.gpu(), lists_.vertices),
        pieces_(lists.gpu(), lists_.most_pieces),
        state_(lists.gpu(), 1),
        reads_(lists.gpu(), kCcStages),
        grid_(static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm) {}

  double run() override {
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
  std::array<LinkReads, kCcStages> count() override {
    reads_.fill_bytes(0, stream_);
    submit<true>();
    stream_.synchronize();
    const std::vector<ReadNote> notes = reads_.read(kCcStages);
    std::array<LinkReads, kCcStages> reads;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      reads[i] = {notes[i].sectors, notes[i].elements, notes[i].hot};
    }
    return reads;
  }
  [[nodiscard]] std::array<double, kCcStages> stage_seconds() const override {
    const ComponentState state = state_.read(1).front();
    std::array<double, kCcStages> seconds{};
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      seconds[i] = static_cast<double>(state.began_ns[i + 1] - state.began_ns[i]) * 1e-9;
    }
    return seconds;
  }
  [[nodiscard]] std::vector<Vertex> labels() const override { return parents_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return parents_.bytes() + roots_.bytes() + pieces_.bytes();
  }

 private:
  static constexpr unsigned kBlocksPerSm = 8;
  static constexpr Vertex kFirstJoined = 1 << 14;

  template <bool kCount>
  void submit() {
    const ComponentArrays a{parents_.data(), roots_.data(), state_.data(), pieces_.data(), reads_.data()};
    if (lists_.out.coding == Coding::compressed) {
      submit<Coding::compressed, kCount>(a);
    } else {
      submit<Coding::plain, kCount>(a);
    }
    cuda::check_launch("the kernels of connected components");
  }

  // As many vertices at a time as are through. Where nothing waits for the link all of them would be joined
  // at once, and climb trees that are still growing, asking the same few words of the L2 cache.
  template <bool kCount>
  void join_hot(const ComponentArrays& a) {
    Vertex begin = 0;
    for (Vertex end = std::min(kFirstJoined, lists_.listed); begin < end;
         end = static_cast<Vertex>(std::min<std::uint64_t>(std::uint64_t{end} * 2, lists_.listed))) {
      join_hot_samples<kCount><<<grid_, kLeanThreads, 0, stream_.get()>>>(lists_.out, begin, end, a);
      begin = end;
    }
  }

  // Kernels that have nothing to do find that out themselves: the host knows nothing of the joins.
  template <Coding kCoding, bool kCount>
  void submit(const ComponentArrays& a) {
    const ListsView& lists = lists_.out;
    const Vertex vertices = lists_.listed;
    const auto sure = static_cast<std::uint32_t>(surely_sampled(lists.id_bits));
    cudaStream_t stream = stream_.get();
    clear_components<<<grid_, kLeanThreads, 0, stream>>>(a, lists_.vertices, vertices,
                                                         lists_.phases.begins[0]);
    if (lists.hot_offsets != nullptr) {
      join_hot<kCount>(a);
    }
    if (lists.firsts != nullptr) {
      join_firsts<kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    }
    for (int phase = 0; phase < kListPhases && lists_.phases.lines[phase] > 0; ++phase) {
      join_phase<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, lists_.phases, phase, a);
      join_phase_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, lists_.phases, phase, a);
    }
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, a.roots, false);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, lists_.vertices, sure, false);
    join_samples<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, a.roots, true);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, lists_.vertices, sure, true);
    join_outside<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, vertices, a);
    join_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists, a);
    settle<<<grid_, kLeanThreads, 0, stream>>>(a, vertices, nullptr, true);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  cuda::DeviceArray<Vertex> parents_;
  cuda::DeviceArray<Vertex> roots_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<ComponentState> state_;
  cuda::DeviceArray<ReadNote> reads_;
  unsigned grid_;
  cuda::Stream stream_;
  std::optional<cuda::GraphExec> stages_;  // once they have run
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<LeanCc> make_lean_cc(const LeanLists& lists) {
  if (view_of(lists).out.words != view_of(lists).in.words) {
    throw UsageError("components are those of an undirected graph");
  }
  if (view_of(lists).weighted) {
    throw UsageError("components are those of lists that are placed without weights");
  }
  return std::make_unique<CudaLeanCc>(lists);
}

}  // namespace grainscope::lean
