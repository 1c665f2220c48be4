#ifndef GRAINSCOPE_TESTS_GPU_ILLEGAL_STORE_HPP
#define GRAINSCOPE_TESTS_GPU_ILLEGAL_STORE_HPP

#include "grainscope/cuda/device.hpp"

namespace grainscope {

// Enqueues a kernel that writes to an address that nothing is mapped at. Once it has run, this process can
// no longer use the GPU: only for a process of its own.
void enqueue_illegal_store(const cuda::Stream& stream);

}  // namespace grainscope

#endif
