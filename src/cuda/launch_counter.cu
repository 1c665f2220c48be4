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

}  // namespace

LaunchCounter::LaunchCounter(int gpu) : counter_(gpu, sizeof(unsigned long long)) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, count_launch), "load the kernel that counts its launches");
  check(cudaMemset(counter_.data(), 0, counter_.bytes()), "clear a counter");
  check(cudaDeviceSynchronize(), "clear a counter");
}

cudaError_t LaunchCounter::try_launch(const Stream& stream) const noexcept {
  auto* counter = static_cast<unsigned long long*>(counter_.data());
  void* arguments[] = {&counter};
  return cudaLaunchKernel(reinterpret_cast<const void*>(count_launch), dim3(1), dim3(1), arguments, 0,
                          stream.get());
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
