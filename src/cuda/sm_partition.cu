#include "grainscope/cuda/sm_partition.hpp"

#include <cuda_runtime.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "green_context.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostMultiprocessors = 1024;
constexpr int kWords = kMostMultiprocessors / 32;
constexpr std::uint64_t kStay_ns = 200'000;

// Each block notes where it is, and stays a while, so that the next is placed elsewhere.
__global__ void __launch_bounds__(kThreads) note_multiprocessor(std::uint32_t* seen, std::uint64_t stay_ns) {
  if (threadIdx.x == 0) {
    std::uint32_t where = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(where));
    atomicOr(seen + where / 32 % kWords, 1U << (where % 32));
    const std::uint64_t start = global_timer_ns();
    while (global_timer_ns() - start < stay_ns) {
    }
  }
  __syncthreads();
}

// What its name says of this process: no part, or a part that it has from elsewhere.
class WholeGpu final : public SmPartition {
 public:
  explicit WholeGpu(int sms) : SmPartition(sms) {}
};

void require_some(int gpu, int sms) {
  const int all = sm_count(gpu);
  if (sms < 1 || sms > all) {
    throw UsageError("a part of GPU " + std::to_string(gpu) + " has 1 to " + std::to_string(all) +
                     " multiprocessors, not " + std::to_string(sms));
  }
}

}  // namespace

Stream SmPartition::stream() const {
  return {};
}

std::unique_ptr<SmPartition> make_partition(int gpu, ShareBy by, int sms) {
  if (by == ShareBy::exec_affinity) {
    return make_affinity_context(gpu, sms);
  }
  if (by == ShareBy::mps_percentage) {
    const DeviceGuard guard(gpu);
    check(cudaFree(nullptr), "create a context on GPU " + std::to_string(gpu));
  } else {
    require_some(gpu, sms);
  }
  if (by == ShareBy::green_context) {
    return split_green(gpu, sms, false).part;
  }
  return std::make_unique<WholeGpu>(by == ShareBy::grid_cap ? sms : sm_count(gpu));
}

SmSplit split_multiprocessors(int gpu, ShareBy by, int sms) {
  const int all = sm_count(gpu);
  require_some(gpu, sms);
  switch (by) {
    case ShareBy::unlimited:
      return {std::make_unique<WholeGpu>(all), std::make_unique<WholeGpu>(all)};
    case ShareBy::grid_cap:
      require_some(gpu, all - sms);
      return {std::make_unique<WholeGpu>(sms), std::make_unique<WholeGpu>(all - sms)};
    case ShareBy::green_context:
      return split_green(gpu, sms, true);
    default:
      throw UsageError(std::string(name(by)) + " parts processes, not streams");
  }
}

int count_multiprocessors(int gpu, const SmPartition& partition, int blocks) {
  const DeviceGuard guard(gpu);
  const Stream stream = partition.stream();
  const DeviceBuffer memory(gpu, kWords * sizeof(std::uint32_t));
  check(cudaMemsetAsync(memory.data(), 0, memory.bytes(), stream.get()), "clear a result on the GPU");
  int held = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, note_multiprocessor, kThreads, 0),
        "ask how many blocks a multiprocessor holds");
  const int grid = blocks > 0 ? blocks : held * sm_count(gpu);
  note_multiprocessor<<<static_cast<unsigned>(grid), kThreads, 0, stream.get()>>>(
      static_cast<std::uint32_t*>(memory.data()), kStay_ns);
  check_launch("note_multiprocessor");
  std::array<std::uint32_t, kWords> seen{};
  check(cudaMemcpyAsync(seen.data(), memory.data(), sizeof(seen), cudaMemcpyDeviceToHost, stream.get()),
        "read which multiprocessors ran blocks");
  stream.synchronize();
  int count = 0;
  for (const std::uint32_t word : seen) {
    count += std::popcount(word);
  }
  return count;
}

}  // namespace grainscope::cuda
