#include "illegal_store.hpp"

#include <cuda_runtime.h>

#include "grainscope/cuda/check.hpp"

namespace grainscope {
namespace {

__global__ void store(volatile int* where) {
  *where = 1;
}

}  // namespace

void enqueue_illegal_store(const cuda::Stream& stream) {
  // No driver and no kernel maps the first page, not even where the GPU reads the host's page tables.
  store<<<1, 1, 0, stream.get()>>>(nullptr);
  cuda::check_launch("store");
}

}  // namespace grainscope
