#ifndef GRAINSCOPE_TRANSFER_HOST_COPY_HPP
#define GRAINSCOPE_TRANSFER_HOST_COPY_HPP

// A copy that the runtime makes without a GPU at either end: from ordinary memory of the host to page-locked
// memory of it, which is how a program that stages its own transfers may fill its buffers.

#include <cstdint>
#include <memory>

#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {

struct HostCopy {
  int from_node = 0;  // whose CPUs call
  int to_node = 0;
  int gpu = 0;         // whose stream carries it
  bool flush = false;  // evict both ends from the CPU's caches before every sample
  std::uint64_t bytes = 0;
};

// Allocates and initialises; throws as make_mover does.
[[nodiscard]] std::unique_ptr<Mover> make_host_copy_mover(const HostCopy& copy,
                                                          const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
