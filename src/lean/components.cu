// Connected components by sampling: a union of first neighbours, then of what is not yet in the largest one.

#include <cuda_runtime.h>

#include <algorithm>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/lean/lean_cc.hpp"
#include "search_kernels.cuh"
#include "state.hpp"

namespace grainscope::lean {
namespace {

using graph::Vertex;

struct ComponentArrays {
  Vertex* parents;    // [V]: no higher than the vertex; a root is its own
  Vertex* sampled;    // [V]: roots once the samples are joined
  Vertex* largest;    // the root of the largest component, by the sample
  PieceItem* pieces;  // [most_pieces]
  unsigned long long* piece_count;
  ReadNote* reads;  // [2]; null: nothing is counted
};

__global__ void __launch_bounds__(kSearchThreads) clear_components(ComponentArrays a, Vertex vertices) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kSearchThreads;
  for (std::uint64_t v = std::uint64_t{blockIdx.x} * kSearchThreads + threadIdx.x; v < vertices;
       v += threads) {
    a.parents[v] = static_cast<Vertex>(v);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *a.piece_count = 0;
  }
}

// Hangs the higher of two roots below the lower, from wherever in their trees the vertices are.
__device__ void join(Vertex* parents, Vertex u, Vertex v) {
  Vertex one = __ldcg(parents + u);
  Vertex other = __ldcg(parents + v);
  while (one != other) {
    const Vertex high = max(one, other);
    const Vertex low = min(one, other);
    const Vertex above = __ldcg(parents + high);
    if (above == low || (above == high && atomicCAS(parents + high, high, low) == high)) {
      return;
    }
    one = __ldcg(parents + __ldcg(parents + high));
    other = __ldcg(parents + low);
  }
}

// Two lanes a vertex: each has one of its first two neighbours.
template <bool kCount>
__global__ void __launch_bounds__(kSearchThreads)
    join_samples(ListsView lists, Vertex vertices, ComponentArrays a) {
  constexpr std::uint64_t kPairs = kWarpLanes / kPairLanes;
  const std::uint64_t turns = (std::uint64_t{vertices} + kPairs - 1) / kPairs;
  const auto member = static_cast<std::uint32_t>(lane_of_warp() % kPairLanes);
  for (std::uint64_t turn = warp_of_grid(); turn < turns; turn += warps_of_grid()) {
    const std::uint64_t vertex = turn * kPairs + lane_of_warp() / kPairLanes;
    const ListParts parts =
        vertex < vertices ? parts_of(lists, static_cast<std::uint32_t>(vertex)) : ListParts{};
    const bool from_hot = member < parts.hot;
    const std::uint64_t element = parts.begin + member - min(member, parts.hot);
    const bool from_link = !from_hot && element < parts.end;
    if constexpr (kCount) {
      count_hot(a.reads, from_hot);
      count_link(a.reads, from_link, element);
    }
    if (from_hot) {
      join(a.parents, static_cast<Vertex>(vertex), lists.hot[parts.hot_begin + member]);
    } else if (from_link) {
      join(a.parents, static_cast<Vertex>(vertex), lists.targets[element]);
    }
  }
}

// Every vertex hangs from its root. `copy`: the same once more; null: not wanted.
__global__ void __launch_bounds__(kSearchThreads) flatten(Vertex* parents, Vertex vertices, Vertex* copy) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kSearchThreads;
  for (std::uint64_t v = std::uint64_t{blockIdx.x} * kSearchThreads + threadIdx.x; v < vertices;
       v += threads) {
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

// A piece of the list of a vertex that is not in the largest component.
template <bool kCount>
__device__ void join_piece(const ListsView& lists, const Step& piece, Vertex vertex,
                           const ComponentArrays& a) {
  const std::uint64_t first = piece.from / kLineElements * kLineElements;
  for (std::uint64_t line = first; line < piece.to; line += kLineElements) {
    const std::uint64_t element = line + lane_of_warp();
    const bool mine = element >= piece.from && element < piece.to;
    if constexpr (kCount) {
      count_link(a.reads + 1, mine, element);
    }
    if (mine) {
      join(a.parents, vertex, lists.targets[element]);
    }
  }
}

// The lists, but for their sampled beginnings, of vertices outside the largest component. A warp a vertex;
// long lists are handed out in pieces.
template <bool kCount>
__global__ void __launch_bounds__(kSearchThreads)
    join_outside(ListsView lists, Vertex vertices, ComponentArrays a) {
  const Vertex largest = *a.largest;
  const std::uint32_t words = (vertices + kWarpLanes - 1) / kWarpLanes;
  for (std::uint32_t word = warp_of_grid(); word < words; word += warps_of_grid()) {
    const std::uint32_t mine = word * kWarpLanes + lane_of_warp();
    // As the sampling left it: joins go on meanwhile, and what is read must not depend on who came first.
    const bool outside = mine < vertices && a.sampled[mine] != largest;
    for (std::uint32_t bits = __ballot_sync(kAllLanes, outside); bits != 0; bits &= bits - 1) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(__ffs(bits)) - 1;
      const ListParts parts = parts_of(lists, vertex);
      for (std::uint32_t at = 0; at < parts.hot; at += kWarpLanes) {
        const std::uint32_t element = at + lane_of_warp();
        const bool reads = element >= kSampledNeighbours && element < parts.hot;
        if constexpr (kCount) {
          count_hot(a.reads + 1, reads);
        }
        if (reads) {
          join(a.parents, vertex, lists.hot[parts.hot_begin + element]);
        }
      }
      const std::uint64_t sampled = min(std::uint64_t{parts.hot}, kSampledNeighbours);
      const std::uint64_t begin = min(parts.begin + kSampledNeighbours - sampled, parts.end);
      const auto pieces = static_cast<std::uint32_t>(pieces_of(begin, parts.end));
      if (parts.end - begin <= kLongList) {
        for (std::uint32_t piece = 0; piece < pieces; ++piece) {
          join_piece<kCount>(lists, piece_of(begin, parts.end, piece), vertex, a);
        }
        continue;
      }
      unsigned long long at = 0;
      if (lane_of_warp() == 0) {
        at = atomicAdd(a.piece_count, static_cast<unsigned long long>(pieces));
      }
      at = __shfl_sync(kAllLanes, at, 0);
      for (std::uint32_t piece = lane_of_warp(); piece < pieces; piece += kWarpLanes) {
        a.pieces[at + piece] = {vertex, piece};
      }
    }
  }
}

template <bool kCount>
__global__ void __launch_bounds__(kSearchThreads) join_pieces(ListsView lists, ComponentArrays a) {
  const std::uint64_t pieces = *a.piece_count;
  for (std::uint64_t i = warp_of_grid(); i < pieces; i += warps_of_grid()) {
    const PieceItem item = a.pieces[i];
    const ListParts parts = parts_of(lists, item.vertex);
    const std::uint64_t sampled = min(std::uint64_t{parts.hot}, kSampledNeighbours);
    const std::uint64_t begin = min(parts.begin + kSampledNeighbours - sampled, parts.end);
    join_piece<kCount>(lists, piece_of(begin, parts.end, item.piece), item.vertex, a);
  }
}

class CudaLeanCc final : public LeanCc {
 public:
  explicit CudaLeanCc(const LeanLists& lists)
      : lists_(view_of(lists)),
        gpu_(lists.gpu()),
        guard_(gpu_),
        parents_(gpu_, lists_.vertices),
        sampled_(gpu_, lists_.vertices),
        pieces_(gpu_, lists_.most_pieces),
        numbers_(gpu_, 2),
        reads_(gpu_, 2),
        grid_(static_cast<unsigned>(cuda::sm_count(gpu_)) * kBlocksPerSm) {}

  double run() override {
    launch<false>();
    return cuda::elapsed_s(start_, stop_);
  }
  std::array<LinkReads, 2> count() override {
    cuda::check(cudaMemset(reads_.get(), 0, reads_.bytes()), "clear what is counted");
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
    const Vertex vertices = lists_.vertices;
    ComponentArrays a{};
    a.parents = parents_.get();
    a.sampled = sampled_.get();
    a.piece_count = numbers_.get();
    a.largest = reinterpret_cast<Vertex*>(numbers_.get() + 1);
    a.pieces = pieces_.get();
    a.reads = kCount ? reads_.get() : nullptr;
    cudaStream_t stream = stream_.get();
    start_.record(stream_);
    clear_components<<<grid_, kSearchThreads, 0, stream>>>(a, vertices);
    join_samples<kCount><<<grid_, kSearchThreads, 0, stream>>>(lists_.out, vertices, a);
    flatten<<<grid_, kSearchThreads, 0, stream>>>(a.parents, vertices, a.sampled);
    find_largest<<<1, kSampledVertices, 0, stream>>>(a, vertices);
    join_outside<kCount><<<grid_, kSearchThreads, 0, stream>>>(lists_.out, vertices, a);
    join_pieces<kCount><<<grid_, kSearchThreads, 0, stream>>>(lists_.out, a);
    flatten<<<grid_, kSearchThreads, 0, stream>>>(a.parents, vertices, nullptr);
    cuda::check_launch("the kernels of connected components");
    stop_.record(stream_);
    stream_.synchronize();
  }

  PlacedView lists_;
  int gpu_;
  cuda::DeviceGuard guard_;
  DeviceValues<Vertex> parents_;
  DeviceValues<Vertex> sampled_;
  DeviceValues<PieceItem> pieces_;
  DeviceValues<unsigned long long> numbers_;
  DeviceValues<ReadNote> reads_;
  unsigned grid_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<LeanCc> make_lean_cc(const LeanLists& lists) {
  if (view_of(lists).out.targets != view_of(lists).in.targets) {
    throw UsageError("components are those of an undirected graph");
  }
  if (view_of(lists).weighted) {
    throw UsageError("components are those of lists that are placed without weights");
  }
  return std::make_unique<CudaLeanCc>(lists);
}

}  // namespace grainscope::lean
