#ifndef GRAINSCOPE_SRC_TRANSFER_HOST_BUFFER_HPP
#define GRAINSCOPE_SRC_TRANSFER_HOST_BUFFER_HPP

// Host memory of any placement that an explicit or zero-copy transfer can use, on a node, with proof.

#include <cstdint>
#include <optional>
#include <string>

#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

class HostBuffer {
 public:
  // Pageable, pinned, registered or write-combined memory, touched, on `node`. The calling thread must
  // be bound there. Throws FailedError when the kernel says that the pages are elsewhere.
  HostBuffer(Placement placement, std::uint64_t bytes, int node, const Topology& topology);

  [[nodiscard]] std::uint32_t* words() const noexcept { return static_cast<std::uint32_t*>(data_); }
  [[nodiscard]] void* data() const noexcept { return data_; }
  // The address that the current GPU uses; pinned and registered memory only.
  [[nodiscard]] void* device_data() const;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool cached() const noexcept { return cached_; }
  // Evicts it from the CPU's caches; nothing for write-combined memory, which is in none.
  void flush() const;

 private:
  std::uint64_t bytes_;
  bool cached_;
  std::optional<HostMemory> pageable_;
  std::optional<cuda::Registration> registration_;
  std::optional<cuda::PinnedBuffer> pinned_;
  void* data_ = nullptr;
};

}  // namespace grainscope::transfer

#endif
