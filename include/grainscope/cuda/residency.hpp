#ifndef GRAINSCOPE_CUDA_RESIDENCY_HPP
#define GRAINSCOPE_CUDA_RESIDENCY_HPP

// Whether managed memory lives on a GPU, told by how fast it answers: nothing else tells it without
// privilege. A page of the GPU's own memory answers a second read from its cache; one that is mapped from
// another GPU is asked for over the link each time; one that has yet to come faults at the first.

#include <cstddef>
#include <cstdint>

#include "grainscope/cuda/memory.hpp"

namespace grainscope::cuda {

class ResidencyProbe {
 public:
  // Measures how fast memory of `gpu` itself answers, and that of `peer` where `gpu` can reach it.
  ResidencyProbe(int gpu, int peer);

  // Of at most 64 pages of `data`, evenly spaced: how many do not live on `gpu`. Reads them, so that a page
  // which was not there may be afterwards.
  [[nodiscard]] std::uint64_t pages_elsewhere(const void* data, std::uint64_t bytes) const;

 private:
  int gpu_;
  DeviceBuffer results_;
  std::uint64_t slowest_second_cycles_ = 0;  // of a page that lives there
};

}  // namespace grainscope::cuda

#endif
