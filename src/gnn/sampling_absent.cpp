// What stands in for sampling on a GPU where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"

namespace grainscope::gnn {

std::unique_ptr<PlacedLists> place_lists(const graph::Csr& /*neighbours*/, const ListRequest& /*request*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<GpuSampler> make_gpu_sampler(const PlacedLists& /*lists*/, const SampleRequest& /*request*/,
                                             std::uint64_t /*most_seeds*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::gnn
