// A kernel that computes for a while and leaves memory alone: what a copy shares the card with.

#include <cuda_runtime.h>

#include <algorithm>

#include "../cuda/launch.cuh"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "lanes.hpp"

namespace grainscope::transfer {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksOnMultiprocessor = 2;
constexpr std::uint64_t kTrialSteps = 1 << 16;

// x → a·x + c (mod 2³²), `steps` times; a full-period generator, so that no compiler can jump ahead.
__host__ __device__ std::uint32_t after_steps(std::uint32_t x, std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    x = x * 1664525U + 1013904223U;
  }
  return x;
}

struct Outcome {
  unsigned long long launches;
  std::uint32_t first;   // of the first thread
  std::uint32_t sevens;  // how many results were 7: any thread's result may change it, so none is dropped
};

__global__ void __launch_bounds__(kThreads) compute(std::uint64_t steps, Outcome* outcome) {
  const std::uint32_t value = after_steps(threadIdx.x + blockIdx.x, steps);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    outcome->first = value;
    outcome->launches += 1;
  }
  if (value == 7) {
    atomicAdd(&outcome->sevens, 1U);
  }
}

class ComputingLane final : public Lane {
 public:
  ComputingLane(int gpu, int node, double seconds, bool beside_bulk)
      : Lane(gpu, node, 0),
        blocks_(static_cast<unsigned>(kBlocksOnMultiprocessor * cuda::sm_count(gpu))),
        memory_(gpu, sizeof(Outcome)) {
    cuda::load_kernel(compute, "load a kernel that computes");
    // A multiprocessor divides its memory into cache and shared memory anew only while it is idle.
    cuda::check(
        cudaFuncSetAttribute(compute, cudaFuncAttributePreferredSharedMemoryCarveout,
                             beside_bulk ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutDefault),
        "choose how a kernel divides a multiprocessor's memory");
    steps_ = static_cast<std::uint64_t>(std::max(1.0, seconds / step_s()));
    cuda::check(cudaMemset(memory_.data(), 0, memory_.bytes()), "clear a result on the GPU");
  }

  void issue(const cuda::Stream& stream) override {
    ++launched_;
    launch(stream, steps_);
  }

  std::string verify() override {
    Outcome seen{};
    cuda::check(cudaMemcpy(&seen, memory_.data(), sizeof(seen), cudaMemcpyDeviceToHost), "read a result");
    if (launched_ == 0 || seen.first != after_steps(0, steps_) || seen.launches != launched_) {
      throw FailedError("wrong result: the computing kernel did not compute what and as often as it should");
    }
    return "the result of the computation and how often it ran";
  }

  [[nodiscard]] std::string action() const override { return "one kernel that computes"; }

 private:
  void launch(const cuda::Stream& stream, std::uint64_t steps) {
    compute<<<blocks_, kThreads, 0, stream.get()>>>(steps, static_cast<Outcome*>(memory_.data()));
    cuda::check_launch("compute");
  }

  // Seconds of one step, from the second of two trial launches.
  double step_s() {
    const cuda::Stream stream;
    const cuda::Event start;
    const cuda::Event stop;
    launch(stream, kTrialSteps);
    start.record(stream);
    launch(stream, kTrialSteps);
    stop.record(stream);
    stop.synchronize();
    return cuda::elapsed_s(start, stop) / kTrialSteps;
  }

  unsigned blocks_;
  cuda::DeviceBuffer memory_;
  std::uint64_t steps_ = 0;
  std::uint64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<Lane> make_computing_lane(int gpu, int node, double seconds,
                                          const Surroundings& /*surroundings*/, bool beside_bulk) {
  const cuda::DeviceGuard guard(gpu);
  return std::make_unique<ComputingLane>(gpu, node, seconds, beside_bulk);
}

}  // namespace grainscope::transfer
