#ifndef GRAINSCOPE_SRC_LEAN_HYBRID_RUN_CUH
#define GRAINSCOPE_SRC_LEAN_HYBRID_RUN_CUH

// A traversal whose steps the host submits, one after the other, by plans of what is copied and what is read.

#include <deque>
#include <vector>

#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/device_array.hpp"
#include "segments.cuh"

namespace grainscope::lean {

class HybridRun {
 public:
  // On `gpu`, which is current. `segments` outlives it.
  HybridRun(const PlacedSegments& segments, int gpu) : staged_(segments, gpu), reads_(gpu, 2) {}

  [[nodiscard]] StagedSegments& staged() { return staged_; }
  [[nodiscard]] const cuda::Stream& stream() const { return staged_.stream(); }

  void begin(bool counts) {
    counts_ = counts;
    steps_.clear();
    read_.clear();
    begun_.record(stream());
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
    if (ends_.size() <= steps_.size()) {
      ends_.emplace_back();
    }
    ends_[steps_.size()].record(stream());
    steps_.push_back({active, edges, 0, 0, 0});
  }
  // Seconds between two events around all steps; waits.
  double finish() {
    stop_.record(stream());
    stop_.synchronize();
    return cuda::elapsed_s(begun_, stop_);
  }

  [[nodiscard]] std::vector<LevelResult> levels() const {
    std::vector<LevelResult> levels = steps_;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      levels[i].seconds = cuda::elapsed_s(i == 0 ? begun_ : ends_[i - 1], ends_[i]);
    }
    return levels;
  }
  [[nodiscard]] const std::vector<LinkReads>& reads() const { return read_; }
  [[nodiscard]] std::uint64_t bytes() const { return staged_.bytes(); }

 private:
  StagedSegments staged_;
  cuda::DeviceArray<ReadNote> reads_;  // of what is read where it lies, and of what was copied
  bool counts_ = false;
  cuda::Event begun_;
  cuda::Event stop_;
  std::deque<cuda::Event> ends_;
  std::vector<LevelResult> steps_;
  std::vector<LinkReads> read_;
};

}  // namespace grainscope::lean

#endif
