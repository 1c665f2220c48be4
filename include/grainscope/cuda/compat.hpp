#ifndef GRAINSCOPE_CUDA_COMPAT_HPP
#define GRAINSCOPE_CUDA_COMPAT_HPP

// The one place that knows that CUDA 13 spells managed-memory calls otherwise than CUDA 12.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace grainscope::cuda {

// A place that managed memory can be moved to or advised about.
struct Location {
  enum class Kind { gpu, host, host_node };
  Kind kind = Kind::host;
  int id = 0;  // GPU ordinal or NUMA node; unused for `host`

  static constexpr Location gpu(int ordinal) { return {Kind::gpu, ordinal}; }
  static constexpr Location host() { return {Kind::host, 0}; }
  static constexpr Location host_node(int node) { return {Kind::host_node, node}; }
};

// cudaMemPrefetchAsync to a location.
[[nodiscard]] cudaError_t prefetch(const void* data, std::size_t bytes, Location to, cudaStream_t stream);

// cudaMemAdvise with a location.
[[nodiscard]] cudaError_t advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice,
                                 Location where);

}  // namespace grainscope::cuda

#endif
