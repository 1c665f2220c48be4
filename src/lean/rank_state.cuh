#ifndef GRAINSCOPE_SRC_LEAN_RANK_STATE_CUH
#define GRAINSCOPE_SRC_LEAN_RANK_STATE_CUH

#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/memory.hpp"
#include "listed.cuh"
#include "ranks_kernels.cuh"

namespace grainscope::lean {

// Memory that every way to rank works on, and what does not change from run to run.
class RankState {
 public:
  // Throws UsageError for lists with weights, or a graph without vertices.
  RankState(const PlacedView& lists, int gpu, const cuda::Stream& stream)
      : vertices_(checked(lists)),
        ranks_(gpu, vertices_),
        shares_(gpu, vertices_),
        sums_(gpu, vertices_),
        listed_(gpu, words()),
        pieces_(gpu, lists.most_pieces),
        counters_(gpu, 2),
        ranked_(gpu, 1) {
    ranked_.fill_bytes(0, stream);
    mark_listed(lists.in, vertices_, listed_.data(), ranked_.data(), stream);
  }

  [[nodiscard]] std::uint32_t words() const { return (vertices_ + kWarpLanes - 1) / kWarpLanes; }
  [[nodiscard]] RankArrays arrays() const {
    return {ranks_.data(),  shares_.data(),   sums_.data(),   listed_.data(),
            pieces_.data(), counters_.data(), ranked_.data(), words()};
  }
  [[nodiscard]] std::vector<float> ranks() const { return ranks_.read(vertices_); }
  [[nodiscard]] unsigned long long ranked() const { return ranked_.read(1).front(); }
  [[nodiscard]] const cuda::DeviceArray<SweepCounters>& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return ranks_.bytes() + shares_.bytes() + sums_.bytes() + listed_.bytes() + pieces_.bytes();
  }

 private:
  static graph::Vertex checked(const PlacedView& lists) {
    if (lists.vertices == 0) {
      throw UsageError("a graph without vertices has no ranks");
    }
    if (lists.weighted) {
      throw UsageError("ranks are of lists that are placed without weights");
    }
    return lists.vertices;
  }

  graph::Vertex vertices_;
  cuda::DeviceArray<float> ranks_;
  cuda::DeviceArray<float> shares_;
  cuda::DeviceArray<double> sums_;
  cuda::DeviceArray<std::uint32_t> listed_;
  cuda::DeviceArray<PieceItem> pieces_;
  cuda::DeviceArray<SweepCounters> counters_;
  cuda::DeviceArray<unsigned long long> ranked_;
};

// Where every edge is there in both directions no rank is lost.
[[nodiscard]] inline bool keeps_mass(const PlacedView& lists) {
  return lists.in.words == lists.out.words;
}

}  // namespace grainscope::lean

#endif
