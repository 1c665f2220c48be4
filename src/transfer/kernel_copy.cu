// Copies by a kernel, both ends memory: what a program gets that moves data with its own multiprocessors.

#include <cuda_runtime.h>

#include <algorithm>

#include "ends_lane.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kThreads = 512;
constexpr int kInFlight = 4;  // independent 16-byte loads of a thread before its first store
static_assert(kThreads * kInFlight * sizeof(uint4) == kUnderWayOfCopyBlock);
constexpr int kBlocksOnMultiprocessor = 4;
constexpr int kBlocksBesideOthers = 2;  // of all kernels that run at once

// Copies `elements` of 16 bytes, then `words` of 4 behind them.
__global__ void __launch_bounds__(kThreads)
    copy_elements(const uint4* __restrict__ from, uint4* __restrict__ to, std::uint64_t elements, int words) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint64_t i = first;
  for (; i + (kInFlight - 1) * stride < elements; i += kInFlight * stride) {
    uint4 values[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      values[k] = from[i + k * stride];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      to[i + k * stride] = values[k];
    }
  }
  for (; i < elements; i += stride) {
    to[i] = from[i];
  }
  if (first < static_cast<std::uint64_t>(words)) {
    reinterpret_cast<std::uint32_t*>(to + elements)[first] =
        reinterpret_cast<const std::uint32_t*>(from + elements)[first];
  }
}

class KernelCopyLane final : public EndsLane {
 public:
  KernelCopyLane(const Transfer& transfer, const Surroundings& surroundings)
      : EndsLane(transfer, surroundings) {
    cudaFuncAttributes attributes{};
    cuda::check(cudaFuncGetAttributes(&attributes, copy_elements), "load the kernel that copies");
  }

  void issue(const cuda::Stream& stream) override {
    copy_elements<<<blocks(), kThreads, 0, stream.get()>>>(
        reinterpret_cast<const uint4*>(source().device_data()),
        reinterpret_cast<uint4*>(destination().device_data()), elements(),
        static_cast<int>(bytes() % sizeof(uint4) / sizeof(std::uint32_t)));
    cuda::check_launch("copy_elements");
  }

  [[nodiscard]] std::string action() const override { return "one kernel that copies"; }

  void describe(Measurement& measurement) const override { measurement.counters["blocks"] = blocks(); }

 private:
  [[nodiscard]] std::uint64_t elements() const { return bytes() / sizeof(uint4); }

  // Enough to fill the GPU, or to leave room on it, or as many blocks as asked for; none without work.
  [[nodiscard]] unsigned blocks() const {
    const Walk& walk = transfer().walk;
    const int on_each = walk.kernels > 1 ? kBlocksBesideOthers : kBlocksOnMultiprocessor;
    const int most = walk.blocks > 0 ? walk.blocks : on_each * cuda::sm_count(gpu()) / walk.kernels;
    const auto full = static_cast<std::uint64_t>(std::max(1, most));
    return static_cast<unsigned>(std::clamp<std::uint64_t>((elements() + kThreads - 1) / kThreads, 1, full));
  }
};

}  // namespace

std::unique_ptr<Lane> make_kernel_copy_lane(const Transfer& transfer, const Surroundings& surroundings) {
  return std::make_unique<KernelCopyLane>(transfer, surroundings);
}

}  // namespace grainscope::transfer
