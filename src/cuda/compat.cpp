#include "grainscope/cuda/compat.hpp"

namespace grainscope::cuda {
namespace {

cudaMemLocation to_cuda(Location location) {
  cudaMemLocation result{};
  switch (location.kind) {
    case Location::Kind::gpu:
      result.type = cudaMemLocationTypeDevice;
      break;
    case Location::Kind::host:
      result.type = cudaMemLocationTypeHost;
      break;
    case Location::Kind::host_node:
      result.type = cudaMemLocationTypeHostNuma;
      break;
  }
  result.id = location.id;
  return result;
}

}  // namespace

#if CUDART_VERSION >= 13000
cudaError_t prefetch(const void* data, std::size_t bytes, Location to, cudaStream_t stream) {
  return cudaMemPrefetchAsync(data, bytes, to_cuda(to), 0, stream);
}

cudaError_t advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice, Location where) {
  return cudaMemAdvise(data, bytes, advice, to_cuda(where));
}
#else
cudaError_t prefetch(const void* data, std::size_t bytes, Location to, cudaStream_t stream) {
  return cudaMemPrefetchAsync_v2(data, bytes, to_cuda(to), 0, stream);
}

cudaError_t advise(const void* data, std::size_t bytes, cudaMemoryAdvise advice, Location where) {
  return cudaMemAdvise_v2(data, bytes, advice, to_cuda(where));
}
#endif

#if CUDART_VERSION >= 12080
cudaError_t copy_batch(void* const* to, const void* const* from, const std::size_t* sizes, std::size_t count,
                       cudaStream_t stream) {
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t applies_from = 0;
#if CUDART_VERSION >= 13000
  return cudaMemcpyBatchAsync(to, from, sizes, count, &attributes, &applies_from, 1, stream);
#else
  // CUDA 12 tells which copy failed, and takes the same arrays without const.
  std::size_t failed = 0;
  return cudaMemcpyBatchAsync(const_cast<void**>(to), const_cast<void**>(from),
                              const_cast<std::size_t*>(sizes), count, &attributes, &applies_from, 1, &failed,
                              stream);
#endif
}
#else
cudaError_t copy_batch(void* const* /*to*/, const void* const* /*from*/, const std::size_t* /*sizes*/,
                       std::size_t /*count*/, cudaStream_t /*stream*/) {
  return cudaErrorNotSupported;
}
#endif

}  // namespace grainscope::cuda
