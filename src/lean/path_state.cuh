#ifndef GRAINSCOPE_SRC_LEAN_PATH_STATE_CUH
#define GRAINSCOPE_SRC_LEAN_PATH_STATE_CUH

#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/memory.hpp"
#include "near_far_kernels.cuh"

namespace grainscope::lean {

// Memory that every way to find shortest paths works on.
class PathState {
 public:
  // Throws UsageError for lists without weights or a delta of 0.
  PathState(const PlacedView& lists, std::uint32_t delta, int gpu)
      : vertices_(checked(lists, delta)),
        distances_(gpu, vertices_),
        bits_(gpu, std::uint64_t{2} * words()),
        pieces_(gpu, lists.most_pieces),
        counters_(gpu, 2) {}

  [[nodiscard]] std::uint32_t words() const { return (vertices_ + kWarpLanes - 1) / kWarpLanes; }
  [[nodiscard]] PathArrays arrays() const {
    return {distances_.data(), bits_.data(),     bits_.data() + words(),
            pieces_.data(),    counters_.data(), words()};
  }
  [[nodiscard]] std::vector<std::uint32_t> distances() const { return distances_.read(vertices_); }
  [[nodiscard]] StepCounters counters() const { return counters_.read(1).front(); }
  [[nodiscard]] std::uint64_t bytes() const { return distances_.bytes() + bits_.bytes() + pieces_.bytes(); }

 private:
  static graph::Vertex checked(const PlacedView& lists, std::uint32_t delta) {
    if (!lists.weighted || delta == 0) {
      throw UsageError("near and far needs lists that are placed with weights, and a delta");
    }
    return lists.vertices;
  }

  graph::Vertex vertices_;
  cuda::DeviceArray<std::uint32_t> distances_;
  cuda::DeviceArray<std::uint32_t> bits_;  // the fallen, then the active
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<StepCounters> counters_;
};

}  // namespace grainscope::lean

#endif
