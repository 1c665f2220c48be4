#ifndef GRAINSCOPE_CUDA_COMPAT_HPP
#define GRAINSCOPE_CUDA_COMPAT_HPP

// The one place that knows which CUDA spells a call how: managed memory and batches differ between CUDA 12
// and 13.

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

// Whether this build has cudaMemcpyBatchAsync, which came with CUDA 12.8.
inline constexpr bool kHasBatchCopy = CUDART_VERSION >= 12080;

// cudaMemcpyBatchAsync: copy i moves sizes[i] bytes from from[i] to to[i], in any order, each source read in
// stream order. The arrays are in host memory and may change once it has returned. The driver refuses the
// legacy default stream. cudaErrorNotSupported where kHasBatchCopy is false.
[[nodiscard]] cudaError_t copy_batch(void* const* to, const void* const* from, const std::size_t* sizes,
                                     std::size_t count, cudaStream_t stream);

// Whether this build has the batches of prefetches and discards, which came with CUDA 13.
inline constexpr bool kHasManagedBatch = CUDART_VERSION >= 13000;

// Ranges of managed memory: `count` of them, sizes[i] bytes from data[i] on. The arrays are in host memory
// and may change once the call has returned.
struct ManagedRanges {
  void* const* data = nullptr;
  const std::size_t* sizes = nullptr;
  std::size_t count = 0;
};

// cudaMemPrefetchBatchAsync of all ranges to one location, cudaMemDiscardBatchAsync, after which what they
// hold is undefined until it is written, and cudaMemDiscardAndPrefetchBatchAsync. The driver refuses the
// legacy default stream. cudaErrorNotSupported where kHasManagedBatch is false.
[[nodiscard]] cudaError_t prefetch_batch(const ManagedRanges& ranges, Location to, cudaStream_t stream);
[[nodiscard]] cudaError_t discard_batch(const ManagedRanges& ranges, cudaStream_t stream);
[[nodiscard]] cudaError_t discard_and_prefetch_batch(const ManagedRanges& ranges, Location to,
                                                     cudaStream_t stream);

}  // namespace grainscope::cuda

#endif
