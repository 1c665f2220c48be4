// Parts of a GPU's multiprocessors, by each way to have one: a smaller grid, a green context, an affinity
// of an MPS client.

#include "grainscope/cuda/sm_partition.hpp"

#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "driver.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "launch.cuh"

namespace grainscope::cuda {
namespace {

// cuCtxCreate as CUDA 11.4 defines it; later headers declare another under that name.
using CtxCreate = CUresult CUDAAPI(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice);
constexpr unsigned kAffinityVersion = 11040;

// A context with a number of multiprocessors, current while it lives: the dissertation's way (section 3.3.2).
class AffinityContext final : public SmPartition {
 public:
  AffinityContext(int gpu, int sms)
      : SmPartition(0), destroy_(driver_function<decltype(cuCtxDestroy)>("cuCtxDestroy")) {
    const std::string where = "GPU " + std::to_string(gpu);
    expect_driver(driver_function<decltype(cuInit)>("cuInit")(0), "start the driver");
    CUdevice device = 0;
    expect_driver(driver_function<decltype(cuDeviceGet)>("cuDeviceGet")(&device, gpu), "find " + where);
    CUexecAffinityParam affinity{};
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = static_cast<unsigned>(sms);
    // It becomes current, and the runtime works in what is current.
    expect_driver(
        driver_function<CtxCreate>("cuCtxCreate", kAffinityVersion)(&context_, &affinity, 1, 0, device),
        "make a context of " + std::to_string(sms) + " multiprocessors on " + where +
            ", which takes a client of MPS");
    CUexecAffinityParam got{};
    const CUresult status = driver_function<decltype(cuCtxGetExecAffinity)>(
        "cuCtxGetExecAffinity", kAffinityVersion)(&got, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    if (status != CUDA_SUCCESS) {
      static_cast<void>(destroy_(context_));
    }
    expect_driver(status, "read how many multiprocessors a context has");
    given_ = static_cast<int>(got.param.smCount.val);
  }
  ~AffinityContext() override { static_cast<void>(destroy_(context_)); }

 private:
  decltype(cuCtxDestroy)* destroy_;
  CUcontext context_ = nullptr;
};

constexpr unsigned kGreenVersion = 12040;
constexpr unsigned kStreamVersion = 12050;
// CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, which the headers of CUDA 12.4 do not have: parts of any
// even number, without large clusters of blocks.
constexpr unsigned kIgnoreCoscheduling = 1;

// As CUDA 12.5 declares cuGreenCtxStreamCreate.
using StreamCreate = CUresult CUDAAPI(CUstream*, CUgreenCtx, unsigned, int);

template <class Function>
Function* green_function(const char* name) {
  return driver_function<Function>(name, kGreenVersion);
}

// Streams made in a green context keep to its multiprocessors. All else is the primary context's: memory,
// events and the runtime's launches.
class GreenContext final : public SmPartition {
 public:
  GreenContext(int gpu, CUdevice device, CUdevResource resource)
      : SmPartition(0), destroy_(green_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy")) {
    const std::string what =
        std::to_string(resource.sm.smCount) + " multiprocessors of GPU " + std::to_string(gpu);
    CUdevResourceDesc description = nullptr;
    expect_driver(green_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(
                      &description, &resource, 1),
                  "describe " + what);
    expect_driver(green_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(
                      &context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                  "make a green context of " + what);
    CUdevResource got{};
    expect_or_destroy(green_function<decltype(cuGreenCtxGetDevResource)>("cuGreenCtxGetDevResource")(
        context_, &got, CU_DEV_RESOURCE_TYPE_SM));
    given_ = static_cast<int>(got.sm.smCount);
  }
  ~GreenContext() override { static_cast<void>(destroy_(context_)); }

  [[nodiscard]] Stream stream() const override {
    CUstream stream = nullptr;
    expect_driver(driver_function<StreamCreate>("cuGreenCtxStreamCreate", kStreamVersion)(
                      &stream, context_, CU_STREAM_NON_BLOCKING, 0),
                  "make a stream in a green context");
    return Stream(stream);
  }

 private:
  // A destructor does not run where a constructor throws.
  void expect_or_destroy(CUresult status) {
    if (status != CUDA_SUCCESS) {
      static_cast<void>(destroy_(context_));
    }
    expect_driver(status, "read what a green context was given");
  }

  decltype(cuGreenCtxDestroy)* destroy_;
  CUgreenCtx context_ = nullptr;
};

struct Split {
  CUdevResource part{};
  CUdevResource rest{};
};

// Of `sms` at least; nothing where the driver does not split so.
std::optional<Split> try_split(const CUdevResource& all, int sms, unsigned flags) {
  const auto split = green_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  Split result;
  unsigned groups = 1;
  const CUresult status = split(&result.part, &groups, &all, &result.rest, flags, static_cast<unsigned>(sms));
  if (status != CUDA_SUCCESS || groups != 1 || result.part.sm.smCount < static_cast<unsigned>(sms)) {
    return std::nullopt;
  }
  return result;
}

// Multiprocessors that stay together where that gives no more than was asked for, else of fewer guarantees.
Split split_as_asked(const CUdevResource& all, int sms) {
  const auto together = try_split(all, sms, 0);
  if (together && together->part.sm.smCount == static_cast<unsigned>(sms)) {
    return *together;
  }
  const auto apart = try_split(all, sms, kIgnoreCoscheduling);
  if (apart && (!together || apart->part.sm.smCount < together->part.sm.smCount)) {
    return *apart;
  }
  if (!together) {
    throw SkipError("the driver does not split " + std::to_string(sms) + " off " +
                    std::to_string(all.sm.smCount) + " multiprocessors");
  }
  return *together;
}

// Green contexts: one of `sms` multiprocessors or the fewest more, and one of the others.
SmSplit split_green(int gpu, int sms, bool also_rest) {
  const DeviceGuard guard(gpu);
  // Green contexts share the primary one, which should be there.
  check(cudaFree(nullptr), "create a context on GPU " + std::to_string(gpu));
  CUdevice device = 0;
  expect_driver(driver_function<decltype(cuDeviceGet)>("cuDeviceGet")(&device, gpu),
                "find GPU " + std::to_string(gpu));
  CUdevResource all{};
  expect_driver(green_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(
                    device, &all, CU_DEV_RESOURCE_TYPE_SM),
                "read the multiprocessors of GPU " + std::to_string(gpu));
  SmSplit split;
  if (static_cast<unsigned>(sms) == all.sm.smCount && !also_rest) {
    split.part = std::make_unique<GreenContext>(gpu, device, all);
    return split;
  }
  const Split parts = split_as_asked(all, sms);
  split.part = std::make_unique<GreenContext>(gpu, device, parts.part);
  if (also_rest) {
    if (parts.rest.type != CU_DEV_RESOURCE_TYPE_SM || parts.rest.sm.smCount == 0) {
      throw SkipError("no multiprocessors are left beside " + std::to_string(sms));
    }
    split.rest = std::make_unique<GreenContext>(gpu, device, parts.rest);
  }
  return split;
}

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
    return std::make_unique<AffinityContext>(gpu, sms);
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
  const int grid =
      blocks > 0 ? blocks : blocks_on_multiprocessor(note_multiprocessor, kThreads) * sm_count(gpu);
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
