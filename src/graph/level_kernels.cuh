#ifndef GRAINSCOPE_SRC_GRAPH_LEVEL_KERNELS_CUH
#define GRAINSCOPE_SRC_GRAPH_LEVEL_KERNELS_CUH

#include <string>

#include "edge_gather.cuh"
#include "frontier.cuh"
#include "grainscope/core/error.hpp"
#include "walk.cuh"

namespace grainscope::graph {

// The kernels of a program, for one way of walking and one width of neighbours.
template <class Program>
struct LevelKernels {
  void (*count)(GraphView, FrontierArrays, Program);
  void (*emit)(GraphView, FrontierArrays, Program);
  void (*walk)(WalkInput, Program);
  void (*walk_traced)(WalkInput, Program);
  void (*walk_counted)(WalkInput, Program);
  bool together;  // blocks of a walk wait for each other: all must be on the GPU at once
  bool by_warps;  // a warp reads an item, and warps side by side read lists side by side

  template <class Policy, class Target>
  static LevelKernels make() {
    if constexpr (Policy::kAccess == Access::edge_gather) {
      return {count_items<Policy, Program>,
              list_vertices<Program>,
              gather_edges<Target, Program, Note::nothing>,
              gather_edges<Target, Program, Note::loads>,
              gather_edges<Target, Program, Note::counts>,
              true,
              false};
    } else {
      return {count_items<Policy, Program>,
              emit_items<Policy, Program>,
              walk_lists<Target, Policy, Program, Note::nothing>,
              walk_lists<Target, Policy, Program, Note::loads>,
              walk_lists<Target, Policy, Program, Note::counts>,
              false,
              !Policy::kLaneOwnsItem};
    }
  }
  template <class Policy>
  static LevelKernels make(int edge_bytes) {
    return edge_bytes == 4 ? make<Policy, std::uint32_t>() : make<Policy, std::uint64_t>();
  }
  static LevelKernels of(Access access, int edge_bytes) {
    switch (access) {
      case Access::naive:
        return make<Naive>(edge_bytes);
      case Access::merged:
        return make<Merged>(edge_bytes);
      case Access::merged_aligned:
        return make<MergedAligned>(edge_bytes);
      case Access::merged_aligned_chunked:
        return make<MergedAlignedChunked>(edge_bytes);
      case Access::edge_gather:
        return make<EdgeGather>(edge_bytes);
    }
    throw UsageError(std::string("no kernels for the access ") + name(access));
  }
};

}  // namespace grainscope::graph

#endif
