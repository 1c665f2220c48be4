#include "grainscope/cuda/device.hpp"

#include <string>

#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/managed_budget.hpp"

namespace grainscope::cuda {

int current_gpu() {
  int gpu = 0;
  check(cudaGetDevice(&gpu), "read the current GPU");
  return gpu;
}

DeviceGuard::DeviceGuard(int gpu) : previous_(current_gpu()), changed_(previous_ != gpu) {
  if (changed_) {
    check(cudaSetDevice(gpu), "make GPU " + std::to_string(gpu) + " current");
  }
}

DeviceGuard::~DeviceGuard() {
  if (changed_) {
    static_cast<void>(cudaSetDevice(previous_));
  }
}

MemoryInfo memory_info(int gpu) {
  const DeviceGuard guard(gpu);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "read the free memory of GPU " + std::to_string(gpu));
  return {free_bytes, total_bytes};
}

std::uint64_t free_memory(int gpu) {
  return memory_info(gpu).free_bytes;
}

int sm_count(int gpu) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, gpu),
        "read the multiprocessor count of GPU " + std::to_string(gpu));
  return count;
}

Stream::Stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  stream_.reset(stream);
}

void Stream::synchronize() const {
  check(cudaStreamSynchronize(get()), "finish the work of a stream");
}

void Stream::Destroy::operator()(cudaStream_t stream) const noexcept {
  static_cast<void>(cudaStreamDestroy(stream));
}

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "create an event");
  event_.reset(event);
}

void Event::record(const Stream& stream) const {
  check(cudaEventRecord(get(), stream.get()), "record an event");
}

void Event::synchronize() const {
  check(cudaEventSynchronize(get()), "wait for an event");
}

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(get());
  if (status == cudaErrorNotReady) {
    // No error, but the next check of a launch would find it.
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(status, "ask whether an event is over");
  return true;
}

void Event::Destroy::operator()(cudaEvent_t event) const noexcept {
  static_cast<void>(cudaEventDestroy(event));
}

double elapsed_s(const Event& start, const Event& stop) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "read the time between two events");
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace grainscope::cuda
