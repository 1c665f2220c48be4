#include "grainscope/cuda/ipc.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

static_assert(sizeof(IpcHandle) == sizeof(cudaIpcMemHandle_t));

constexpr std::uint64_t kPiece = 2 * kMiB;

// Where the driver cannot share memory, the machine has no IPC that works: no wrong result. An error that
// lasts is another matter.
void check_ipc(cudaError_t status, const std::string& tried) {
  try {
    check(status, tried);
  } catch (const GpuLostError&) {
    throw;
  } catch (const FailedError& error) {
    throw SkipError(std::string("CUDA IPC does not work here: ") + error.what());
  }
}

}  // namespace

SharedBuffer::SharedBuffer(int gpu, std::uint64_t bytes)
    : memory_(gpu, (bytes + kPiece - 1) / kPiece * kPiece), handle_{} {
  const DeviceGuard guard(gpu);
  cudaIpcMemHandle_t handle{};
  check_ipc(cudaIpcGetMemHandle(&handle, memory_.data()),
            "share " + format_bytes(memory_.bytes()) + " of GPU " + std::to_string(gpu));
  std::memcpy(handle_.data(), &handle, sizeof(handle));
}

OpenedBuffer::OpenedBuffer(int gpu, const IpcHandle& handle) {
  const DeviceGuard guard(gpu);
  cudaIpcMemHandle_t of_other{};
  std::memcpy(&of_other, handle.data(), sizeof(of_other));
  void* data = nullptr;
  check_ipc(cudaIpcOpenMemHandle(&data, of_other, cudaIpcMemLazyEnablePeerAccess),
            "open the memory of GPU " + std::to_string(gpu) + " that another process shares");
  data_.reset(data);
}

void OpenedBuffer::Close::operator()(void* data) const noexcept {
  static_cast<void>(cudaIpcCloseMemHandle(data));
}

}  // namespace grainscope::cuda
