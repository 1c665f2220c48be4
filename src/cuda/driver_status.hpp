#ifndef GRAINSCOPE_SRC_CUDA_DRIVER_STATUS_HPP
#define GRAINSCOPE_SRC_CUDA_DRIVER_STATUS_HPP

// What the driver API answers, in its own words.

#include <cuda.h>

#include <string>

namespace grainscope::cuda {

// Throws SkipError unless `status` is CUDA_SUCCESS: what is asked of the driver by itself need not be
// possible everywhere. `tried` reads after "could not".
void expect_driver(CUresult status, const std::string& tried);

}  // namespace grainscope::cuda

#endif
