#ifndef GRAINSCOPE_TRANSFER_END_MEMORY_HPP
#define GRAINSCOPE_TRANSFER_END_MEMORY_HPP

// Memory at one end of a transfer that is more than one contiguous copy, and a look at it from the host.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/topology.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

// Bytes on the host: those of the memory itself, or a copy of what a GPU holds.
struct HostView {
  const std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> owned;
};

class EndMemory {
 public:
  // Pinned memory on a node, where the calling thread must be bound, or device memory; rounded up to words.
  // Throws SkipError where a card has not enough free, FailedError when pages are on another node.
  EndMemory(const Endpoint& where, std::uint64_t bytes, const Topology& topology);

  [[nodiscard]] bool on_host() const noexcept { return pinned_.has_value(); }
  // As copies take it, and on the host as the CPU does.
  [[nodiscard]] std::byte* data() const noexcept;
  // As kernels of the current GPU address it.
  [[nodiscard]] std::byte* device_data() const;
  // Fills all of it with the pattern, and waits.
  void fill(std::uint32_t seed) const;
  // What it holds now. Nothing may be writing to it.
  [[nodiscard]] HostView read() const;

 private:
  Endpoint where_;
  std::uint64_t bytes_;
  std::optional<cuda::PinnedBuffer> pinned_;
  std::optional<cuda::DeviceBuffer> device_;
};

}  // namespace grainscope::transfer

#endif
