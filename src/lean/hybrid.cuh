#ifndef GRAINSCOPE_SRC_LEAN_HYBRID_CUH
#define GRAINSCOPE_SRC_LEAN_HYBRID_CUH

// Traversals whose steps the host submits, one after the other, by plans of which segments of the lists are
// copied into GPU memory and which are read where they lie.

#include <cuda_runtime_api.h>

#include <array>
#include <vector>

#include "../cuda/level_times.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/lean/run.hpp"
#include "lists.cuh"

namespace grainscope::lean {

// Adds what the lists of a set of vertices, a bit each, ask of the segments that they begin in.
template <Coding kCoding>
__global__ void __launch_bounds__(kLeanThreads)
    add_demands(ListsView lists, std::uint32_t words, const std::uint32_t* set, SegmentDemand* demands) {
  for (std::uint32_t word = warp_of_grid(); word < words; word += warps_of_grid()) {
    const std::uint32_t bits = set[word];
    const bool mine = (bits >> cuda::lane_of_warp() & 1) != 0;
    const ListParts parts =
        mine ? parts_of<kCoding>(lists, word * kWarpLanes + static_cast<std::uint32_t>(cuda::lane_of_warp()))
             : ListParts{};
    const SegmentDemand demand = demand_of({parts.begin, parts.end});
    const std::uint64_t segment = parts.begin / kSegmentWords;
    // Neighbouring vertices' lists begin in one segment, but for a warp now and then.
    const std::uint64_t most = __shfl_sync(kAllLanes, segment, bits == 0 ? 0 : __ffs(bits) - 1);
    const bool together = mine && segment == most;
    const unsigned long long sectors = cuda::sum_of_warp(together ? demand.sectors : 0ULL);
    const unsigned long long requests = cuda::sum_of_warp(together ? demand.requests : 0ULL);
    if (cuda::lane_of_warp() == 0 && requests > 0) {
      atomicAdd(&demands[most].sectors, sectors);
      atomicAdd(&demands[most].requests, requests);
    }
    if (mine && !together && demand.requests > 0) {
      atomicAdd(&demands[segment].sectors, demand.sectors);
      atomicAdd(&demands[segment].requests, demand.requests);
    }
  }
}

// Segments [first, last) lie one after the other from `base` on.
__global__ static void point_segments(const std::uint32_t** table, std::uint32_t first, std::uint32_t last,
                                      const std::uint32_t* base) {
  for (std::uint32_t segment = first + threadIdx.x; segment < last; segment += blockDim.x) {
    table[segment] = base + (segment - first) * kSegmentWords;
  }
}

// Vertices [first, last).
struct VertexRange {
  std::uint32_t first;
  std::uint32_t last;
  // Which of a word's vertices are in it, a bit each.
  [[nodiscard]] __device__ std::uint32_t of_word(std::uint32_t word) const {
    std::uint32_t bits = kAllLanes;
    bits &= word == first / kWarpLanes ? kAllLanes << first % kWarpLanes : kAllLanes;
    bits &= word == last / kWarpLanes ? (1U << last % kWarpLanes) - 1 : kAllLanes;
    return bits;
  }
  [[nodiscard]] __device__ WordRange words() const {
    return {first / kWarpLanes, (last + kWarpLanes - 1) / kWarpLanes};
  }
};

// Memory that segments are copied into, and the table that kernels find them by.
class StagedSegments {
 public:
  // `placed` outlives it, on `gpu`, which is current.
  StagedSegments(const PlacedSegments& placed, int gpu)
      : placed_(placed),
        count_(static_cast<std::uint32_t>(segments_of(placed.words))),
        table_(gpu, count_),
        demands_(gpu, count_),
        group_words_(staged_words(placed.words) / 2),
        memory_(gpu, staged_words(placed.words)) {
    point(0, count_, placed_.device, compute_);
    compute_.synchronize();
  }

  [[nodiscard]] const cuda::Stream& stream() const { return compute_; }
  // The lists that `placed` is of, found by the table.
  [[nodiscard]] ListsView view(ListsView lists) const {
    lists.segments = table_.data();
    return lists;
  }
  // What a set of vertices' lists asks of each segment. Waits.
  [[nodiscard]] std::vector<SegmentDemand> demands(const ListsView& lists, std::uint32_t words,
                                                   const std::uint32_t* set) const {
    constexpr unsigned kBlocks = 1024;
    demands_.fill_bytes(0, compute_);
    if (is_compressed(lists.coding)) {
      add_demands<Coding::compressed>
          <<<kBlocks, kLeanThreads, 0, compute_.get()>>>(lists, words, set, demands_.data());
    } else {
      add_demands<Coding::plain>
          <<<kBlocks, kLeanThreads, 0, compute_.get()>>>(lists, words, set, demands_.data());
    }
    cuda::check_launch("add_demands");
    compute_.synchronize();
    return demands_.read(count_);
  }

  // Calls `walk(vertices, copied)` for each run of a plan, which submits to stream() what reads the lists
  // that begin in it; every vertex is in one of them, since lists that nothing is asked of over the link have
  // hot parts. Copies run ahead of it.
  template <class Walk>
  void run(const StepPlan& plan, const Walk& walk) {
    std::size_t half = 0;
    VertexRange vertices{0, 0};
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
      const SegmentRun& run = plan.runs[i];
      vertices.last = i + 1 < plan.runs.size() ? placed_.first_vertex[run.last] : placed_.first_vertex.back();
      if (run.copied) {
        walk_copied(run, half, [&] { walk(vertices, true); });
        half = 1 - half;
      } else {
        walk(vertices, false);
      }
      vertices.first = vertices.last;
    }
    if (plan.runs.empty()) {
      walk(VertexRange{0, placed_.first_vertex.back()}, false);
    }
  }

  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes() + table_.bytes() + demands_.bytes(); }

 private:
  // A run's segments into one half of the memory, then what reads them there.
  template <class Walk>
  void walk_copied(const SegmentRun& run, std::size_t half, const Walk& walk) {
    const std::uint64_t begin = run.first * kSegmentWords;
    const std::uint64_t words = std::min(run.last * kSegmentWords, placed_.words) - begin;
    std::uint32_t* const into = memory_.data() + half * group_words_;
    copying_.wait_for(walked_[half]);
    cuda::check(cudaMemcpyAsync(into, placed_.host + begin, words * sizeof(std::uint32_t),
                                cudaMemcpyHostToDevice, copying_.get()),
                "copy a run of segments");
    copied_[half].record(copying_);
    compute_.wait_for(copied_[half]);
    point(run.first, run.last, into, compute_);
    walk();
    point(run.first, run.last, placed_.device + begin, compute_);
    walked_[half].record(compute_);
  }

  void point(std::uint32_t first, std::uint32_t last, const std::uint32_t* base,
             const cuda::Stream& stream) const {
    point_segments<<<1, kLeanThreads, 0, stream.get()>>>(table_.data(), first, last, base);
    cuda::check_launch("point_segments");
  }

  const PlacedSegments& placed_;
  std::uint32_t count_;
  cuda::DeviceArray<const std::uint32_t*> table_;
  cuda::DeviceArray<SegmentDemand> demands_;
  std::uint64_t group_words_;
  cuda::DeviceArray<std::uint32_t> memory_;  // for two groups of segments
  cuda::Stream copying_;
  cuda::Stream compute_;
  std::array<cuda::Event, 2> copied_;
  std::array<cuda::Event, 2> walked_;  // never recorded: nothing to wait for
};

// A traversal whose steps the host submits, one after the other, by plans of what is copied and what is read.

class HybridRun {
 public:
  // On `gpu`, which is current. `segments` outlives it.
  HybridRun(const PlacedSegments& segments, int gpu) : staged_(segments, gpu), reads_(gpu, 2) {}

  [[nodiscard]] StagedSegments& staged() { return staged_; }
  [[nodiscard]] const cuda::Stream& stream() const { return staged_.stream(); }

  void begin(bool counts) {
    counts_ = counts;
    read_.clear();
    times_.begin(stream());
  }
  // Submits what a plan says: `walk(vertices, note)`, `note` being where reads are counted, or null.
  template <class Walk>
  void walk(const StepPlan& plan, const Walk& walk) {
    if (counts_) {
      reads_.fill_bytes(0, stream());
    }
    staged_.run(plan, [&](const VertexRange& vertices, bool copied) {
      walk(vertices, counts_ ? reads_.data() + (copied ? 1 : 0) : nullptr);
    });
    if (counts_) {
      stream().synchronize();
      const std::vector<ReadNote> notes = reads_.read(2);
      read_.push_back({notes[0].sectors, notes[0].elements + notes[1].elements, notes[0].hot + notes[1].hot,
                       plan.copied_words * sizeof(std::uint32_t)});
    }
  }
  void end_step(std::uint64_t active, std::uint64_t edges) {
    times_.end(times_.size()).record(stream());
    times_.add(active, edges);
  }
  // Seconds between two events around all steps; waits.
  double finish() {
    stop_.record(stream());
    stop_.synchronize();
    return cuda::elapsed_s(times_.begun(), stop_);
  }

  [[nodiscard]] std::vector<LevelResult> levels() const { return times_.read(); }
  [[nodiscard]] const std::vector<LinkReads>& reads() const { return read_; }
  [[nodiscard]] std::uint64_t bytes() const { return staged_.bytes(); }

 private:
  StagedSegments staged_;
  cuda::DeviceArray<ReadNote> reads_;  // of what is read where it lies, and of what was copied
  bool counts_ = false;
  cuda::LevelTimes times_;
  cuda::Event stop_;
  std::vector<LinkReads> read_;
};

}  // namespace grainscope::lean

#endif
