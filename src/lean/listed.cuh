#ifndef GRAINSCOPE_SRC_LEAN_LISTED_CUH
#define GRAINSCOPE_SRC_LEAN_LISTED_CUH

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "lists.cuh"

namespace grainscope::lean {

__global__ static void __launch_bounds__(kLeanThreads)
    mark_listed_vertices(ListsView lists, graph::Vertex vertices, std::uint32_t* listed,
                         unsigned long long* count) {
  const std::uint64_t all = (std::uint64_t{vertices} + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  for (std::uint64_t v = cuda::thread_of_grid(); v < all; v += cuda::threads_of_grid()) {
    const bool has_list = v < vertices && degree_of(lists, static_cast<graph::Vertex>(v)) > 0;
    const unsigned bits = __ballot_sync(kAllLanes, has_list);
    if (cuda::lane_of_warp() == 0) {
      listed[v / kWarpLanes] = bits;
      if (count != nullptr) {
        atomicAdd(count, static_cast<unsigned long long>(__popc(bits)));
      }
    }
  }
}

// Which vertices have a list, a bit each, 32 to a word, and how many (null: not wanted; cleared before).
// Waits for it.
inline void mark_listed(const ListsView& lists, graph::Vertex vertices, std::uint32_t* listed,
                        unsigned long long* count, const cuda::Stream& stream) {
  constexpr unsigned kBlocks = 512;
  mark_listed_vertices<<<kBlocks, kLeanThreads, 0, stream.get()>>>(lists, vertices, listed, count);
  cuda::check_launch("mark_listed_vertices");
  stream.synchronize();
}

}  // namespace grainscope::lean

#endif
