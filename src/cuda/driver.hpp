#ifndef GRAINSCOPE_SRC_CUDA_DRIVER_HPP
#define GRAINSCOPE_SRC_CUDA_DRIVER_HPP

// The driver API without linking libcuda, which would keep the program from starting where there is no
// driver: its functions come from the runtime, by name.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::cuda {

// The driver's function `name` as CUDA `version` (12000 for 12.0) defines it; nullptr where the driver has
// none.
[[nodiscard]] inline void* driver_entry_point(const char* name, [[maybe_unused]] unsigned version) noexcept {
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

// The same as a function. Throws SkipError, naming it, where the driver has none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* name, unsigned version = 12000) {
  void* const found = driver_entry_point(name, version);
  if (found == nullptr) {
    throw SkipError(std::string("the driver has no ") + name + ": it needs a newer one");
  }
  return reinterpret_cast<Function*>(found);
}

// Throws SkipError unless `status` is CUDA_SUCCESS: what is asked of the driver by itself need not be
// possible everywhere. `tried` reads after "could not".
inline void expect_driver(CUresult status, const std::string& tried) {
  if (status == CUDA_SUCCESS) {
    return;
  }
  const char* name = nullptr;
  const char* text = nullptr;
  const bool known =
      driver_function<decltype(cuGetErrorName)>("cuGetErrorName")(status, &name) == CUDA_SUCCESS &&
      driver_function<decltype(cuGetErrorString)>("cuGetErrorString")(status, &text) == CUDA_SUCCESS;
  throw SkipError("could not " + tried + ": " +
                  (known ? std::string(name) + " (" + text + ")"
                         : "CUDA driver error " + std::to_string(static_cast<int>(status))));
}

}  // namespace grainscope::cuda

#endif
