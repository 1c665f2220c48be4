// Shortest paths by near and far: all steps in one kernel, whose blocks wait for each other between phases.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <string>

#include "../cuda/global_timer.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/graph/answers.hpp"
#include "grainscope/lean/lean_sssp.hpp"
#include "search_kernels.cuh"
#include "state.hpp"

namespace grainscope::lean {
namespace {

namespace cg = cooperative_groups;
using graph::Vertex;

// More steps are no use to anyone: a delta that is far too small.
constexpr std::uint32_t kMostSteps = 1 << 18;

// What a step comes to; two take turns.
struct StepCounters {
  unsigned long long active;
  unsigned long long edges;
  unsigned long long pieces;
  unsigned int nearest;  // of the vertices that wait, the lowest distance
};

// All device memory.
struct PathArrays {
  std::uint32_t* distances;  // [V]
  std::uint32_t* fallen;     // [words]: distance is lower than when the list was last read
  std::uint32_t* active;     // [words]: of these, whose lists are read in this step
  PieceItem* pieces;         // [most_pieces]
  StepCounters* counters;    // [2]
  LevelNote* notes;          // [most_steps]
  ReadNote* reads;           // [most_steps]; null: nothing is counted
  std::uint64_t* begun_ns;
  std::uint32_t* steps;  // 0: there were more than most_steps
  std::uint32_t words;
  std::uint32_t most_steps;
};

__device__ void clear_paths(const PathArrays& a, Vertex vertices, Vertex source) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kSearchThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kSearchThreads;
  for (std::uint64_t word = first; word < a.words; word += threads) {
    a.fallen[word] = word == source / kWarpLanes ? 1U << source % kWarpLanes : 0;
  }
  for (std::uint64_t vertex = first; vertex < vertices; vertex += threads) {
    a.distances[vertex] = vertex == source ? 0 : graph::kUnreached;
  }
  if (first < 2) {
    a.counters[first] = {0, 0, 0, graph::kUnreached};
  }
  if (first == 0) {
    *a.begun_ns = cuda::global_timer_ns();
    *a.steps = 0;
  }
}

// Of the vertices whose distance has fallen, those below the threshold become active.
__device__ void choose(const ListsView& lists, const PathArrays& a, std::uint64_t threshold,
                       StepCounters& step) {
  unsigned long long active = 0;
  unsigned long long edges = 0;
  std::uint32_t nearest = graph::kUnreached;
  for (std::uint32_t word = warp_of_grid(); word < a.words; word += warps_of_grid()) {
    const std::uint32_t fallen = a.fallen[word];
    bool near = false;
    if ((fallen >> lane_of_warp() & 1) != 0) {
      const std::uint32_t vertex = word * kWarpLanes + lane_of_warp();
      const std::uint32_t distance = __ldcg(a.distances + vertex);
      near = distance < threshold;
      if (near) {
        ++active;
        edges += lists.offsets[vertex + std::uint64_t{1}] - lists.offsets[vertex];
      } else {
        nearest = min(nearest, distance);
      }
    }
    const std::uint32_t chosen = __ballot_sync(kAllLanes, near);
    if (lane_of_warp() == 0) {
      a.active[word] = chosen;
      if (chosen != 0) {
        a.fallen[word] = fallen & ~chosen;
      }
    }
  }
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    active += __shfl_down_sync(kAllLanes, active, lanes);
    edges += __shfl_down_sync(kAllLanes, edges, lanes);
    nearest = min(nearest, __shfl_down_sync(kAllLanes, nearest, lanes));
  }
  if (lane_of_warp() == 0) {
    if (active > 0) {
      atomicAdd(&step.active, active);
      atomicAdd(&step.edges, edges);
    }
    if (nearest != graph::kUnreached) {
      atomicMin(&step.nearest, nearest);
    }
  }
}

__device__ inline void relax(const PathArrays& a, std::uint32_t vertex, std::uint32_t distance) {
  if (distance >= a.distances[vertex]) {  // it may be lower by now: then the next line tells
    return;
  }
  if (distance < atomicMin(a.distances + vertex, distance)) {
    const std::uint32_t bit = 1U << vertex % kWarpLanes;
    atomicOr(a.fallen + vertex / kWarpLanes, bit);
  }
}

__device__ inline std::uint32_t vertex_of(std::uint32_t target, int bits) {
  return bits < 32 ? target & ((1U << bits) - 1) : target;
}

template <bool kPacked, bool kCount>
__device__ void relax_piece(const ListsView& lists, const Step& piece, std::uint32_t distance,
                            const PathArrays& a, ReadNote* note) {
  constexpr int kLoads = static_cast<int>(kPieceElements / kLineElements);
  const std::uint64_t first = piece.from / kLineElements * kLineElements + lane_of_warp();
  std::uint32_t targets[kLoads];
  std::uint32_t weights[kLoads];
#pragma unroll
  for (int load = 0; load < kLoads; ++load) {
    const std::uint64_t element = first + load * kLineElements;
    const bool mine = element >= piece.from && element < piece.to;
    if constexpr (kCount) {
      count_link(note, mine, element);
      if constexpr (!kPacked) {
        count_sectors(note, mine, element);
      }
    }
    if (mine) {
      targets[load] = lists.targets[element];
      if constexpr (!kPacked) {
        weights[load] = lists.weights[element];
      }
    }
  }
#pragma unroll
  for (int load = 0; load < kLoads; ++load) {
    const std::uint64_t element = first + load * kLineElements;
    if (element >= piece.from && element < piece.to) {
      const std::uint32_t weight = kPacked ? targets[load] >> lists.vertex_bits : weights[load];
      relax(a, vertex_of(targets[load], lists.vertex_bits), distance + weight);
    }
  }
}

// A vertex's distance, the same for the whole warp.
__device__ inline std::uint32_t distance_of(const PathArrays& a, std::uint32_t vertex) {
  std::uint32_t distance = 0;
  if (lane_of_warp() == 0) {
    distance = __ldcg(a.distances + vertex);
  }
  return __shfl_sync(kAllLanes, distance, 0);
}

template <bool kPacked, bool kCount>
__device__ void relax_hot(const ListsView& lists, const ListParts& parts, std::uint32_t distance,
                          const PathArrays& a, ReadNote* note) {
  for (std::uint32_t at = 0; at < parts.hot; at += kWarpLanes) {
    const std::uint32_t element = parts.hot_begin + at + lane_of_warp();
    const bool mine = at + lane_of_warp() < parts.hot;
    if constexpr (kCount) {
      count_hot(note, mine);
    }
    if (mine) {
      const std::uint32_t target = lists.hot[element];
      const std::uint32_t weight = kPacked ? target >> lists.vertex_bits : lists.hot_weights[element];
      relax(a, vertex_of(target, lists.vertex_bits), distance + weight);
    }
  }
}

template <bool kPacked, bool kCount>
__device__ void relax_lists(const ListsView& lists, const PathArrays& a, StepCounters& step, ReadNote* note) {
  for (std::uint32_t word = warp_of_grid(); word < a.words; word += warps_of_grid()) {
    for (std::uint32_t bits = a.active[word]; bits != 0; bits &= bits - 1) {
      const std::uint32_t vertex = word * kWarpLanes + static_cast<std::uint32_t>(__ffs(bits)) - 1;
      const ListParts parts = parts_of(lists, vertex);
      const std::uint32_t distance = distance_of(a, vertex);
      relax_hot<kPacked, kCount>(lists, parts, distance, a, note);
      const auto pieces = static_cast<std::uint32_t>(pieces_of(parts.begin, parts.end));
      if (parts.end - parts.begin <= kLongList) {
        for (std::uint32_t piece = 0; piece < pieces; ++piece) {
          relax_piece<kPacked, kCount>(lists, piece_of(parts.begin, parts.end, piece), distance, a, note);
        }
        continue;
      }
      unsigned long long at = 0;
      if (lane_of_warp() == 0) {
        at = atomicAdd(&step.pieces, static_cast<unsigned long long>(pieces));
      }
      at = __shfl_sync(kAllLanes, at, 0);
      for (std::uint32_t piece = lane_of_warp(); piece < pieces; piece += kWarpLanes) {
        a.pieces[at + piece] = {vertex, piece};
      }
    }
  }
}

template <bool kPacked, bool kCount>
__device__ void relax_pieces(const ListsView& lists, const PathArrays& a, std::uint64_t pieces,
                             ReadNote* note) {
  for (std::uint64_t i = warp_of_grid(); i < pieces; i += warps_of_grid()) {
    const PieceItem item = a.pieces[i];
    const ListParts parts = parts_of(lists, item.vertex);
    // It may have fallen since the list's beginning was read. What is read with a lower distance need not be
    // read again, but the beginning must: the vertex has fallen, and its list comes again.
    relax_piece<kPacked, kCount>(lists, piece_of(parts.begin, parts.end, item.piece),
                                 distance_of(a, item.vertex), a, note);
  }
}

template <bool kPacked, bool kCount>
__global__ void __launch_bounds__(kSearchThreads)
    relax_steps(PlacedView lists, PathArrays a, Vertex source, std::uint32_t delta) {
  const cg::grid_group grid = cg::this_grid();
  clear_paths(a, lists.vertices, source);
  grid.sync();
  std::uint64_t threshold = delta;
  std::uint32_t step = 0;
  for (std::uint32_t round = 0; step < a.most_steps; ++round) {
    StepCounters& counters = a.counters[round % 2];
    choose(lists.out, a, threshold, counters);
    grid.sync();
    const std::uint64_t active = __ldcg(&counters.active);
    const std::uint64_t edges = __ldcg(&counters.edges);
    if (active == 0) {
      const std::uint32_t nearest = __ldcg(&counters.nearest);
      if (nearest == graph::kUnreached) {
        if (grid.thread_rank() == 0) {
          *a.steps = step;
        }
        return;
      }
      threshold = (std::uint64_t{nearest} / delta + 1) * delta;
    } else {
      ReadNote* const note = kCount ? a.reads + step : nullptr;
      relax_lists<kPacked, kCount>(lists.out, a, counters, note);
      grid.sync();
      relax_pieces<kPacked, kCount>(lists.out, a, __ldcg(&counters.pieces), note);
    }
    if (grid.thread_rank() == 0) {
      a.counters[(round + 1) % 2] = {0, 0, 0, graph::kUnreached};
    }
    grid.sync();
    if (active != 0) {
      if (grid.thread_rank() == 0) {
        a.notes[step] = {active, edges, cuda::global_timer_ns(), 0};
      }
      ++step;
    }
  }
}

class CudaLeanSssp final : public LeanSssp {
 public:
  CudaLeanSssp(const LeanLists& lists, std::uint32_t delta)
      : lists_(view_of(lists)),
        delta_(delta),
        gpu_(lists.gpu()),
        guard_(gpu_),
        words_((lists_.vertices + kWarpLanes - 1) / kWarpLanes),
        distances_(gpu_, lists_.vertices),
        bits_(gpu_, std::uint64_t{2} * words_),
        pieces_(gpu_, lists_.most_pieces),
        counters_(gpu_, 2),
        notes_(gpu_, kMostSteps),
        begun_(gpu_, 1),
        steps_(gpu_, 1) {
    require_together(gpu_);
  }

  double run(Vertex source) override {
    launch(packed() ? relax_steps<true, false> : relax_steps<false, false>, source, nullptr);
    return cuda::elapsed_s(start_, stop_);
  }

  std::vector<LinkReads> count(Vertex source) override {
    const DeviceValues<ReadNote> reads(gpu_, kMostSteps);
    cuda::check(cudaMemset(reads.get(), 0, reads.bytes()), "clear what is counted");
    launch(packed() ? relax_steps<true, true> : relax_steps<false, true>, source, reads.get());
    std::vector<LinkReads> steps;
    for (const ReadNote& note : reads.read(last_.size())) {
      steps.push_back({note.sectors, note.elements, note.hot});
    }
    return steps;
  }

  [[nodiscard]] std::vector<LevelResult> levels() const override { return levels_of(last_, begun_ns_); }
  [[nodiscard]] std::vector<std::uint32_t> distances() const override {
    return distances_.read(lists_.vertices);
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return distances_.bytes() + bits_.bytes() + pieces_.bytes() + notes_.bytes();
  }

 private:
  using Kernel = void (*)(PlacedView, PathArrays, Vertex, std::uint32_t);

  [[nodiscard]] bool packed() const { return lists_.out.vertex_bits < 32; }

  void launch(Kernel kernel, Vertex source, ReadNote* reads) {
    require_vertex(source, lists_.vertices);
    PathArrays a{};
    a.distances = distances_.get();
    a.fallen = bits_.get();
    a.active = a.fallen + words_;
    a.pieces = pieces_.get();
    a.counters = counters_.get();
    a.notes = notes_.get();
    a.reads = reads;
    a.begun_ns = begun_.get();
    a.steps = steps_.get();
    a.words = words_;
    a.most_steps = kMostSteps;
    void* arguments[] = {&lists_, &a, &source, &delta_};
    start_.record(stream_);
    launch_together(reinterpret_cast<const void*>(kernel), kSearchThreads, gpu_, arguments, stream_);
    stop_.record(stream_);
    stream_.synchronize();
    const std::uint32_t steps = steps_.read(1).front();
    if (steps == 0) {
      throw FailedError("shortest paths took more than " + std::to_string(kMostSteps) + " steps");
    }
    last_ = notes_.read(steps);
    begun_ns_ = begun_.read(1).front();
  }

  PlacedView lists_;
  std::uint32_t delta_;
  int gpu_;
  cuda::DeviceGuard guard_;
  std::uint32_t words_;
  DeviceValues<std::uint32_t> distances_;
  DeviceValues<std::uint32_t> bits_;
  DeviceValues<PieceItem> pieces_;
  DeviceValues<StepCounters> counters_;
  DeviceValues<LevelNote> notes_;
  DeviceValues<std::uint64_t> begun_;
  DeviceValues<std::uint32_t> steps_;
  cuda::Stream stream_;
  cuda::Event start_;
  cuda::Event stop_;
  std::vector<LevelNote> last_;
  std::uint64_t begun_ns_ = 0;
};

}  // namespace

std::unique_ptr<LeanSssp> make_lean_sssp(const LeanLists& lists, std::uint32_t delta) {
  if (!view_of(lists).weighted || delta == 0) {
    throw UsageError("near and far needs lists that are placed with weights, and a delta");
  }
  return std::make_unique<CudaLeanSssp>(lists, delta);
}

}  // namespace grainscope::lean
