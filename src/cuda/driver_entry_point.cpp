#include "driver_entry_point.hpp"

#include <cuda_runtime_api.h>

namespace grainscope::cuda {

void* driver_entry_point(const char* name, [[maybe_unused]] unsigned version) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return found == cudaDriverEntryPointSuccess ? function : nullptr;
}

}  // namespace grainscope::cuda
