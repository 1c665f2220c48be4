#include "grainscope/cuda/memory.hpp"

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

// The context and the library's own buffers need room beside what is asked for.
constexpr std::uint64_t kDeviceReserve = 256 * kMiB;

void* device_pointer(void* host) {
  void* mapped = nullptr;
  check(cudaHostGetDevicePointer(&mapped, host, 0), "map pinned host memory into the GPU's address space");
  return mapped;
}

}  // namespace

DeviceBuffer::DeviceBuffer(int gpu, std::uint64_t bytes) : bytes_(bytes) {
  const DeviceGuard guard(gpu);
  const MemoryInfo memory = memory_info(gpu);
  if (bytes + kDeviceReserve > memory.free_bytes) {
    throw SkipError("needs " + format_bytes(bytes) + " on GPU " + std::to_string(gpu) + ", which has " +
                    format_bytes(memory.free_bytes) + " free");
  }
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "allocate " + format_bytes(bytes) + " on GPU " + std::to_string(gpu));
  data_.reset(data);
}

void DeviceBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFree(data));
}

PinnedBuffer::PinnedBuffer(std::uint64_t bytes, Kind kind) : bytes_(bytes) {
  const unsigned flags = cudaHostAllocPortable | cudaHostAllocMapped |
                         (kind == Kind::write_combined ? cudaHostAllocWriteCombined : 0U);
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, flags), "allocate " + format_bytes(bytes) + " of pinned host memory");
  data_.reset(data);
}

void* PinnedBuffer::device_data() const {
  return device_pointer(data());
}

void PinnedBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFreeHost(data));
}

Registration::Registration(void* data, std::uint64_t bytes) {
  check(cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
        "page-lock " + format_bytes(bytes) + " of host memory");
  data_.reset(data);
}

void* Registration::device_data() const {
  return device_pointer(data_.get());
}

void Registration::Unregister::operator()(void* data) const noexcept {
  static_cast<void>(cudaHostUnregister(data));
}

ManagedBuffer::ManagedBuffer(ManagedBudget& budget, int gpu, std::uint64_t bytes)
    : data_(nullptr, Free{&budget, gpu, bytes}), bytes_(bytes) {
  const DeviceGuard guard(gpu);
  budget.reserve(gpu, bytes);
  void* data = nullptr;
  const cudaError_t status = cudaMallocManaged(&data, bytes, cudaMemAttachGlobal);
  if (status != cudaSuccess) {
    budget.release(gpu, bytes);
  }
  check(status, "allocate " + format_bytes(bytes) + " of managed memory");
  data_.reset(data);
}

void ManagedBuffer::Free::operator()(void* data) const noexcept {
  static_cast<void>(cudaFree(data));
  budget->release(gpu, bytes);
}

}  // namespace grainscope::cuda
