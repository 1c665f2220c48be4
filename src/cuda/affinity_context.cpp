// Contexts with a number of multiprocessors, the dissertation's way (section 3.3.2): of clients of MPS alone.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "driver_entry_point.hpp"
#include "driver_status.hpp"
#include "green_context.hpp"

namespace grainscope::cuda {
namespace {

// cuCtxCreate as CUDA 11.4 defines it; later headers declare another under that name.
using CtxCreate = CUresult CUDAAPI(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice);
constexpr unsigned kVersion = 11040;

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
    expect_driver(driver_function<CtxCreate>("cuCtxCreate", kVersion)(&context_, &affinity, 1, 0, device),
                  "make a context of " + std::to_string(sms) + " multiprocessors on " + where +
                      ", which takes a client of MPS");
    CUexecAffinityParam got{};
    const CUresult status = driver_function<decltype(cuCtxGetExecAffinity)>("cuCtxGetExecAffinity", kVersion)(
        &got, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
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

}  // namespace

std::unique_ptr<SmPartition> make_affinity_context(int gpu, int sms) {
  return std::make_unique<AffinityContext>(gpu, sms);
}

}  // namespace grainscope::cuda
