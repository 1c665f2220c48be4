#include "grainscope/cuda/verification.hpp"
#include "launch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {
namespace {

constexpr int kBlocks = 1024;
constexpr int kThreads = 256;

__global__ void fill(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, std::uint64_t first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride) {
    data[i] = pattern_word(first + i, seed);
  }
}

__global__ void first_mismatch(const std::uint32_t* data, std::uint64_t words, std::uint32_t seed,
                               unsigned long long* first) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride) {
    if (data[i] != pattern_word(i, seed)) {
      atomicMin(first, i);
      return;
    }
  }
}

}  // namespace

void fill_pattern(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, const Stream& stream,
                  std::uint64_t first) {
  fill<<<kBlocks, kThreads, 0, stream.get()>>>(data, words, seed, first);
  check_launch("fill");
  stream.synchronize();
}

std::optional<std::uint64_t> find_mismatch(const std::uint32_t* data, std::uint64_t words, std::uint32_t seed,
                                           const Stream& stream) {
  const PinnedBuffer result(sizeof(unsigned long long), PinnedBuffer::Kind::cached);
  auto* first = static_cast<unsigned long long*>(result.data());
  *first = ~0ULL;
  first_mismatch<<<kBlocks, kThreads, 0, stream.get()>>>(
      data, words, seed, static_cast<unsigned long long*>(result.device_data()));
  check_launch("first_mismatch");
  stream.synchronize();
  if (*first == ~0ULL) {
    return std::nullopt;
  }
  return *first;
}

namespace {

constexpr std::uint64_t kMostPages = 64;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kCalibrationBytes = kMostPages * kPageBytes;
// A fault takes tens of microseconds, a read that misses every cache and translation one or two.
constexpr std::uint64_t kFaultCycles = 15000;

struct Answer {
  std::uint64_t first_cycles;
  std::uint64_t second_cycles;
};

// Cycles until a word has arrived, past the first-level cache. Storing it before the clock is read again is
// what makes the clock wait.
__device__ std::uint64_t cycles_of_read(const std::uint32_t* word, volatile std::uint32_t* arrived) {
  const long long start = clock64();
  std::uint32_t value = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  *arrived = value;
  return static_cast<std::uint64_t>(clock64() - start);
}

// `pages` of `all`, evenly spaced to the end.
__global__ void ask_pages(const std::byte* data, std::uint64_t all, std::uint64_t pages, Answer* answers) {
  __shared__ std::uint32_t arrived;
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto* word = reinterpret_cast<const std::uint32_t*>(data + i * all / pages * kPageBytes);
    const std::uint64_t first = cycles_of_read(word, &arrived);
    answers[i] = {first, cycles_of_read(word, &arrived)};
  }
}

std::vector<Answer> ask(const void* data, std::uint64_t bytes, void* results) {
  const std::uint64_t all = std::max<std::uint64_t>(1, bytes / kPageBytes);
  const std::uint64_t pages = std::min(all, kMostPages);
  const Stream stream;
  ask_pages<<<1, 1, 0, stream.get()>>>(static_cast<const std::byte*>(data), all, pages,
                                       static_cast<Answer*>(results));
  check_launch("ask_pages");
  stream.synchronize();
  std::vector<Answer> answers(pages);
  check(cudaMemcpy(answers.data(), results, pages * sizeof(Answer), cudaMemcpyDeviceToHost),
        "read how fast pages answered");
  return answers;
}

double median_second_cycles(const void* data, void* results) {
  std::vector<Answer> answers = ask(data, kCalibrationBytes, results);
  const auto middle = answers.begin() + static_cast<std::ptrdiff_t>(answers.size() / 2);
  std::nth_element(answers.begin(), middle, answers.end(),
                   [](const Answer& a, const Answer& b) { return a.second_cycles < b.second_cycles; });
  return static_cast<double>(middle->second_cycles);
}

bool can_reach(int gpu, int peer) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, gpu, peer), "ask whether one GPU can reach another's memory");
  return can != 0;
}

}  // namespace

ResidencyProbe::ResidencyProbe(int gpu, int peer) : gpu_(gpu), results_(gpu, kMostPages * sizeof(Answer)) {
  const DeviceGuard guard(gpu);
  const DeviceBuffer own(gpu, kCalibrationBytes);
  const double own_cycles = median_second_cycles(own.data(), results_.data());
  double other_cycles = 4 * own_cycles;
  if (can_reach(gpu, peer)) {
    const PeerAccess access(gpu, peer);
    const DeviceBuffer others(peer, kCalibrationBytes);
    other_cycles = median_second_cycles(others.data(), results_.data());
  }
  if (other_cycles < 1.5 * own_cycles) {
    throw FailedError("GPU " + std::to_string(peer) + "'s memory answers GPU " + std::to_string(gpu) +
                      " as fast as its own: where managed pages live cannot be told");
  }
  slowest_second_cycles_ = static_cast<std::uint64_t>(std::sqrt(own_cycles * other_cycles));
}

std::uint64_t ResidencyProbe::pages_elsewhere(const void* data, std::uint64_t bytes) const {
  const DeviceGuard guard(gpu_);
  const std::vector<Answer> answers = ask(data, bytes, results_.data());
  return static_cast<std::uint64_t>(std::count_if(answers.begin(), answers.end(), [&](const Answer& answer) {
    return answer.first_cycles > kFaultCycles || answer.second_cycles > slowest_second_cycles_;
  }));
}

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
  load_kernel(kernel_, "load the kernel that counts its launches");
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
