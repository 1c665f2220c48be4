#include "driver_status.hpp"

#include "driver_entry_point.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::cuda {

void expect_driver(CUresult status, const std::string& tried) {
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
