#ifndef GRAINSCOPE_SRC_GRAPH_COUNTS_SCAN_HPP
#define GRAINSCOPE_SRC_GRAPH_COUNTS_SCAN_HPP

// Where counted things begin in a sequence: the sums of the counts before each. CUB's scan, compiled once:
// its headers take longer than a traversal.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "grainscope/cuda/memory.hpp"

namespace grainscope::graph {

class CountsScan {
 public:
  // For up to `most` counts at a time, fewer than 2³¹, on a GPU.
  CountsScan(int gpu, std::uint64_t most);

  // Submits to[i] = from[0] + … + from[i - 1] for `count` of them. Device memory.
  void submit(const std::uint32_t* from, std::uint64_t* to, std::uint64_t count, cudaStream_t stream) const;

  // Of its own.
  [[nodiscard]] std::uint64_t bytes() const { return scratch_.bytes(); }

 private:
  cuda::DeviceBuffer scratch_;
};

}  // namespace grainscope::graph

#endif
