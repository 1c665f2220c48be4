#ifndef GRAINSCOPE_SRC_TRANSFER_TOUCH_PAGES_HPP
#define GRAINSCOPE_SRC_TRANSFER_TOUCH_PAGES_HPP

#include <cuda_runtime_api.h>

#include <cstdint>

namespace grainscope::transfer {

// Loads the kernel for the current GPU.
void load_touch_kernel();

// The GPU writes one word to each page, the one that it held: what makes managed pages come.
void touch_from_gpu(std::uint32_t* data, std::uint64_t words, cudaStream_t stream);

}  // namespace grainscope::transfer

#endif
