#ifndef GRAINSCOPE_CUDA_CHECK_HPP
#define GRAINSCOPE_CUDA_CHECK_HPP

// Turns a CUDA status into an error that says what was tried, what came back, and where.

#include <cuda_runtime_api.h>

#include <source_location>
#include <string_view>

namespace grainscope::cuda {

// Throws FailedError unless `status` is cudaSuccess. `tried` reads after "could not":
// "allocate 64 MiB on GPU 0". Out of memory comes with its remedy. Throws GpuLostError where the error
// lasts: a kernel's illegal access, a GPU that fell off the bus, a killed MPS server. Whether it does is
// asked of the current GPU by a call that waits for no work.
void check(cudaError_t status, std::string_view tried,
           std::source_location where = std::source_location::current());

// The same for the launch just made.
void check_launch(std::string_view kernel, std::source_location where = std::source_location::current());

}  // namespace grainscope::cuda

#endif
