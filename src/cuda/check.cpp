#include "grainscope/cuda/check.hpp"

#include <algorithm>
#include <array>
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

// Errors after which, by the runtime's reference, "any further CUDA work will return the same error" until
// the process is relaunched, and those that were seen to last. Numbers stand for names that the oldest
// toolkits do not have.
constexpr std::array kLasting{
    cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorAssert, cudaErrorHardwareStackError,
    cudaErrorIllegalInstruction, cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,
    cudaErrorLaunchFailure, cudaErrorMpsClientTerminated,
    // Seen when the MPS server was killed: calls that do nothing then still succeed, all others fail.
    cudaErrorMpsRpcFailure, cudaErrorNoDevice,
    static_cast<cudaError_t>(226),   // cudaErrorContained
    static_cast<cudaError_t>(721),   // cudaErrorTensorMemoryLeak
    static_cast<cudaError_t>(911)};  // cudaErrorExternalDevice

// What a GPU that is well may answer: it is full, held by someone else, or recording a graph.
bool may_pass(cudaError_t answer) {
  switch (answer) {
    case cudaSuccess:
    case cudaErrorMemoryAllocation:
    case cudaErrorDevicesUnavailable:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureWrongThread:
      return true;
    default:
      return false;
  }
}

// Another GPU than the current one may have caused `status`, so the documented errors need no question.
bool is_lost(cudaError_t status) {
  if (std::find(kLasting.begin(), kLasting.end(), status) != kLasting.end()) {
    return true;
  }
  // Freeing nothing does nothing and waits for nothing, not even a kernel that spins, but it reports an
  // error that lasts. A call that synchronizes could wait here for ever.
  const cudaError_t answer = cudaFree(nullptr);
  static_cast<void>(cudaGetLastError());
  return !may_pass(answer);
}

}  // namespace

void check(cudaError_t status, std::string_view tried, std::source_location where) {
  if (status == cudaSuccess) {
    return;
  }
  // An error that has been told would otherwise be told again by the next, innocent call.
  static_cast<void>(cudaGetLastError());
  const std::string what = "could not " + std::string(tried) + ": " + cudaGetErrorName(status) + " (" +
                           cudaGetErrorString(status) + ")" + remedy(status);
  const std::string place = " [" + std::filesystem::path(where.file_name()).filename().string() + ":" +
                            std::to_string(where.line()) + "]";
  if (is_lost(status)) {
    throw GpuLostError(what +
                       "; this process can no longer use the GPU: see `nvidia-smi`, and `dmesg` for lines "
                       "with Xid, then go on with --resume DIR, which starts a new process" +
                       place);
  }
  throw FailedError(what + place);
}

void check_launch(std::string_view kernel, std::source_location where) {
  check(cudaGetLastError(), "launch the kernel " + std::string(kernel), where);
}

}  // namespace grainscope::cuda
