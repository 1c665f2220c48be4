// Green contexts: the driver splits the multiprocessors, and streams made in a part keep to it. All else is
// the primary context's: memory, events and the runtime's launches.

#include "green_context.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>

#include "driver_entry_point.hpp"
#include "driver_status.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {
namespace {

constexpr unsigned kVersion = 12040;
constexpr unsigned kStreamVersion = 12050;
// CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, which the headers of CUDA 12.4 do not have: parts of any
// even number, without large clusters of blocks.
constexpr unsigned kIgnoreCoscheduling = 1;

// As CUDA 12.5 declares cuGreenCtxStreamCreate.
using StreamCreate = CUresult CUDAAPI(CUstream*, CUgreenCtx, unsigned, int);

template <class Function>
Function* green_function(const char* name) {
  return driver_function<Function>(name, kVersion);
}

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

}  // namespace

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

}  // namespace grainscope::cuda
