#include "grainscope/cuda/residency.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/peer_access.hpp"

namespace grainscope::cuda {
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

__global__ void ask_pages(const std::byte* data, std::uint64_t stride, std::uint64_t pages, Answer* answers) {
  __shared__ std::uint32_t arrived;
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto* word = reinterpret_cast<const std::uint32_t*>(data + i * stride);
    const std::uint64_t first = cycles_of_read(word, &arrived);
    answers[i] = {first, cycles_of_read(word, &arrived)};
  }
}

std::vector<Answer> ask(const void* data, std::uint64_t bytes, void* results) {
  const std::uint64_t all = std::max<std::uint64_t>(1, bytes / kPageBytes);
  const std::uint64_t pages = std::min(all, kMostPages);
  const Stream stream;
  ask_pages<<<1, 1, 0, stream.get()>>>(static_cast<const std::byte*>(data), all / pages * kPageBytes, pages,
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

}  // namespace grainscope::cuda
