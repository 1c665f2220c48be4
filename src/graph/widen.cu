#include "widen.hpp"

#include "grainscope/cuda/check.hpp"

namespace grainscope::graph {
namespace {

__global__ void widen(const Vertex* from, std::uint64_t* to, std::uint64_t count) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    to[i] = from[i];
  }
}

}  // namespace

void widen_on_gpu(const Vertex* from, std::uint64_t* to, std::uint64_t count) {
  widen<<<1024, 256>>>(from, to, count);
  cuda::check_launch("widen");
  cuda::check(cudaDeviceSynchronize(), "widen edges on the GPU");
}

}  // namespace grainscope::graph
