#include "grainscope/cuda/check.hpp"

#include <filesystem>
#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope::cuda {
namespace {

const char* remedy(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "; free memory, raise `ulimit -l` for pinned memory, or set a smaller --max-bytes";
    case cudaErrorDevicesUnavailable:
      return "; another process holds the GPU exclusively: see `nvidia-smi`";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
      return "; the GPU has a hardware fault: see `nvidia-smi -q`";
    case cudaErrorNoDevice:
    case cudaErrorSystemDriverMismatch:
      return "; the GPU or its driver went away: see `nvidia-smi` and `dmesg`";
    default:
      return "";
  }
}

}  // namespace

void check(cudaError_t status, std::string_view tried, std::source_location where) {
  if (status == cudaSuccess) {
    return;
  }
  // A sticky error would otherwise be reported again by the next, innocent call.
  static_cast<void>(cudaGetLastError());
  throw FailedError("could not " + std::string(tried) + ": " + cudaGetErrorName(status) + " (" +
                    cudaGetErrorString(status) + ")" + remedy(status) + " [" +
                    std::filesystem::path(where.file_name()).filename().string() + ":" +
                    std::to_string(where.line()) + "]");
}

void check_launch(std::string_view kernel, std::source_location where) {
  check(cudaGetLastError(), "launch the kernel " + std::string(kernel), where);
}

}  // namespace grainscope::cuda
