#ifndef GRAINSCOPE_SRC_TRANSFER_END_BUFFER_HPP
#define GRAINSCOPE_SRC_TRANSFER_END_BUFFER_HPP

// The memory at one end of a transfer, on the host or on a GPU: filled, checked and flushed alike.

#include <cstdint>
#include <optional>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "host_buffer.hpp"

namespace grainscope::transfer {

class EndBuffer {
 public:
  // `bytes` at `end`, begun `offset_bytes` behind a 128-byte boundary. For memory of the host the calling
  // thread must be bound to its node.
  EndBuffer(const Endpoint& end, std::uint64_t bytes, const Topology& topology, int offset_bytes = 0);

  // As a copy, or the host, addresses it.
  [[nodiscard]] void* data() const noexcept { return data_; }
  // As a kernel of the current GPU addresses it; not for pageable or write-combined memory.
  [[nodiscard]] void* device_data() const;
  // Evicts memory of the host from the CPU's caches; nothing to do for that of a GPU.
  void flush() const;

  // Fills it with the pattern, and waits.
  void fill(std::uint32_t seed) const;
  // Throws FailedError, naming the first wrong word, unless it holds what was sent.
  void expect_payload() const;

 private:
  [[nodiscard]] std::uint32_t* words() const noexcept { return static_cast<std::uint32_t*>(data_); }

  Endpoint end_;
  std::uint64_t words_;
  int offset_bytes_;
  std::optional<HostBuffer> host_;
  std::optional<cuda::DeviceBuffer> gpu_;
  void* data_ = nullptr;
};

}  // namespace grainscope::transfer

#endif
