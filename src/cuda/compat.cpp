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

}  // namespace grainscope::cuda
