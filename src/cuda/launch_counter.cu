#include <cuda_runtime.h>

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/launch_counter.hpp"

namespace grainscope::cuda {
namespace {

__global__ void count_launch(unsigned long long* counter) {
  atomicAdd(counter, 1ULL);
}

template <int kBytes>
struct Payload {
  unsigned char bytes[kBytes];
};

// Adds 1 if the arguments arrived, which are ones.
template <int kBytes>
__global__ void count_launch_with(unsigned long long* counter, Payload<kBytes> payload) {
  atomicAdd(counter, static_cast<unsigned long long>(payload.bytes[0] * payload.bytes[kBytes - 1]));
}

constexpr int kAddress = sizeof(unsigned long long*);

const void* kernel_with(int argument_bytes) {
  switch (argument_bytes) {
    case kAddress:
      return reinterpret_cast<const void*>(count_launch);
    case 64:
      return reinterpret_cast<const void*>(count_launch_with<64 - kAddress>);
    case 1024:
      return reinterpret_cast<const void*>(count_launch_with<1024 - kAddress>);
    case 4096:
      return reinterpret_cast<const void*>(count_launch_with<4096 - kAddress>);
    default:
      throw UsageError("a launch is counted with 8, 64, 1024 or 4096 bytes of arguments, not " +
                       std::to_string(argument_bytes));
  }
}

}  // namespace

LaunchCounter::LaunchCounter(int gpu, int argument_bytes)
    : counter_(gpu, sizeof(unsigned long long)),
      kernel_(kernel_with(argument_bytes)),
      payload_(static_cast<std::size_t>(argument_bytes - kAddress), std::byte{1}) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel_), "load the kernel that counts its launches");
  check(cudaMemset(counter_.data(), 0, counter_.bytes()), "clear a counter");
  check(cudaDeviceSynchronize(), "clear a counter");
}

cudaError_t LaunchCounter::try_launch(const Stream& stream) const noexcept {
  auto* counter = static_cast<unsigned long long*>(counter_.data());
  // Read during the call, and copied.
  void* arguments[] = {&counter, const_cast<std::byte*>(payload_.data())};
  return cudaLaunchKernel(kernel_, dim3(1), dim3(1), arguments, 0, stream.get());
}

void LaunchCounter::launch(const Stream& stream) const {
  check(try_launch(stream), "launch the kernel count_launch");
}

std::uint64_t LaunchCounter::count(const Stream& stream) const {
  unsigned long long launches = 0;
  check(cudaMemcpyAsync(&launches, counter_.data(), sizeof(launches), cudaMemcpyDeviceToHost, stream.get()),
        "read a counter");
  stream.synchronize();
  return launches;
}

void LaunchCounter::expect(std::uint64_t launches, const Stream& stream) const {
  if (const std::uint64_t counted = count(stream); counted != launches) {
    throw FailedError("wrong result: " + std::to_string(counted) + " kernels ran, not " +
                      std::to_string(launches));
  }
}

}  // namespace grainscope::cuda
