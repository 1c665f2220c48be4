#ifndef GRAINSCOPE_SRC_CUDA_GREEN_CONTEXT_HPP
#define GRAINSCOPE_SRC_CUDA_GREEN_CONTEXT_HPP

// The ways to part multiprocessors that only the driver API has.

#include "grainscope/cuda/sm_partition.hpp"

namespace grainscope::cuda {

// Green contexts: one of `sms` multiprocessors or the fewest more, and one of the others.
[[nodiscard]] SmSplit split_green(int gpu, int sms, bool also_rest);

// A context with a number of multiprocessors, current while it lives.
[[nodiscard]] std::unique_ptr<SmPartition> make_affinity_context(int gpu, int sms);

}  // namespace grainscope::cuda

#endif
