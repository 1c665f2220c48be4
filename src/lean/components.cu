// Connected components by sampling: a union of first neighbours, then of what is not yet in the largest one.

#include <cuda_runtime.h>

#include "components_kernels.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device_array.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

__global__ void __launch_bounds__(kLeanThreads) clear_components(ComponentArrays a, Vertex vertices) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    a.parents[v] = static_cast<Vertex>(v);
  }
  if (cuda::thread_of_grid() == 0) {
    *a.piece_count = 0;
  }
}

// Some warps join while others wait for the link.
template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_samples(ListsView lists, Vertex vertices, ComponentArrays a) {
  const std::uint64_t turns = (std::uint64_t{vertices} * kPairLanes + kWarpLanes - 1) / kWarpLanes;
  for (std::uint64_t turn = warp_of_grid(); turn < turns; turn += warps_of_grid()) {
    const std::uint64_t v = (turn * kWarpLanes + cuda::lane_of_warp()) / kPairLanes;
    const auto vertex = static_cast<Vertex>(v);
    const Vertex sample = sample_of<kCoding, kCount>(lists, vertex, v < vertices, a.reads);
    if (v < vertices && sample != vertex) {
      join(a.parents, vertex, sample);
    }
  }
}

// Every vertex hangs from its root. `copy`: the same once more; null: not wanted.
__global__ void __launch_bounds__(kLeanThreads) flatten(Vertex* parents, Vertex vertices, Vertex* copy) {
  for (std::uint64_t v = cuda::thread_of_grid(); v < vertices; v += cuda::threads_of_grid()) {
    Vertex root = parents[v];
    for (Vertex above = __ldcg(parents + root); above != root; above = __ldcg(parents + root)) {
      root = above;
    }
    parents[v] = root;
    if (copy != nullptr) {
      copy[v] = root;
    }
  }
}

// One block: the root that most of the sampled vertices have; of several the lowest.
__global__ void __launch_bounds__(kSampledVertices) find_largest(ComponentArrays a, Vertex vertices) {
  __shared__ Vertex roots[kSampledVertices];
  __shared__ unsigned long long best;
  const std::uint32_t i = threadIdx.x;
  roots[i] = a.sampled[sampled_vertex(i, vertices)];
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
    *a.largest = 0xffffffffU - static_cast<std::uint32_t>(best);
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads)
    join_outside(ListsView lists, Vertex vertices, ComponentArrays a) {
  Join join{a.parents};
  const std::uint32_t words = (vertices + kWarpLanes - 1) / kWarpLanes;
  for (std::uint32_t word = warp_of_grid(); word < words; word += warps_of_grid()) {
    visit_word<kCoding, kCount>(lists, word, outside_of(lists, word, vertices, a), {a.pieces, a.piece_count},
                                a.reads + 1, join);
  }
}

template <Coding kCoding, bool kCount>
__global__ void __launch_bounds__(kLeanThreads) join_pieces(ListsView lists, ComponentArrays a) {
  Join join{a.parents};
  visit_pieces<kCoding, kCount>(lists, {a.pieces, nullptr}, *a.piece_count, a.reads + 1, join);
}

class CudaLeanCc final : public LeanCc {
 public:
  explicit CudaLeanCc(const LeanLists& lists)
      : lists_(view_of(lists)),
        guard_(lists.gpu()),
        parents_(lists.gpu(), lists_.vertices),
        sampled_(lists.gpu(), lists_.vertices),
        pieces_(lists.gpu(), lists_.most_pieces),
        numbers_(lists.gpu(), 2),
        reads_(lists.gpu(), 2),
        grid_(static_cast<unsigned>(cuda::sm_count(lists.gpu())) * kBlocksPerSm) {}

  double run() override {
    launch<false>();
    return cuda::elapsed_s(start_, stop_);
  }
  std::array<LinkReads, 2> count() override {
    reads_.fill_bytes(0, stream_);
    launch<true>();
    const std::vector<ReadNote> notes = reads_.read(2);
    std::array<LinkReads, 2> reads;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      reads[i] = {notes[i].sectors, notes[i].elements, notes[i].hot};
    }
    return reads;
  }
  [[nodiscard]] std::vector<Vertex> labels() const override { return parents_.read(lists_.vertices); }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return parents_.bytes() + sampled_.bytes() + pieces_.bytes();
  }

 private:
  static constexpr unsigned kBlocksPerSm = 8;

  template <bool kCount>
  void launch() {
    ComponentArrays a{};
    a.parents = parents_.data();
    a.sampled = sampled_.data();
    a.piece_count = numbers_.data();
    a.largest = reinterpret_cast<Vertex*>(numbers_.data() + 1);
    a.pieces = pieces_.data();
    a.reads = reads_.data();
    start_.record(stream_);
    if (lists_.out.coding == Coding::compressed) {
      submit<Coding::compressed, kCount>(a);
    } else {
      submit<Coding::plain, kCount>(a);
    }
    cuda::check_launch("the kernels of connected components");
    stop_.record(stream_);
    stream_.synchronize();
  }

  template <Coding kCoding, bool kCount>
  void submit(const ComponentArrays& a) {
    const Vertex vertices = lists_.vertices;
    cudaStream_t stream = stream_.get();
    clear_components<<<grid_, kLeanThreads, 0, stream>>>(a, vertices);
    join_samples<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_.out, vertices, a);
    flatten<<<grid_, kLeanThreads, 0, stream>>>(a.parents, vertices, a.sampled);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, vertices);
    join_outside<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_.out, vertices, a);
    join_pieces<kCoding, kCount><<<grid_, kLeanThreads, 0, stream>>>(lists_.out, a);
    flatten<<<grid_, kLeanThreads, 0, stream>>>(a.parents, vertices, nullptr);
  }

  PlacedView lists_;
  cuda::DeviceGuard guard_;
  cuda::DeviceArray<Vertex> parents_;
  cuda::DeviceArray<Vertex> sampled_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<unsigned long long> numbers_;
  cuda::DeviceArray<ReadNote> reads_;
  unsigned grid_;
  cuda::Stream stream_;
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
