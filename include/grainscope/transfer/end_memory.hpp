#ifndef GRAINSCOPE_TRANSFER_END_MEMORY_HPP
#define GRAINSCOPE_TRANSFER_END_MEMORY_HPP

// The memory at one end of a transfer, on the host or on a GPU: filled, checked, flushed and looked at alike.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {

// Bytes on the host: those of the memory itself, or a copy of what a GPU holds.
struct HostView {
  const std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> owned;
};

class EndMemory {
 public:
  // `bytes`, rounded up to words, at `end`, begun `offset_bytes` behind a 128-byte boundary: device memory,
  // or host memory of the end's placement (mapped memory is pinned memory that a kernel addresses), touched,
  // on its node, where the calling thread must be bound. Not managed memory that migrates; that which stays
  // on the host is mapped for the current GPU, and for `others`, a bit each. Throws SkipError where a card
  // has not enough free, FailedError when the kernel says that the pages are on another node.
  EndMemory(const Endpoint& end, std::uint64_t bytes, const Surroundings& surroundings, int offset_bytes = 0,
            std::uint64_t others = 0);

  ~EndMemory();
  EndMemory(const EndMemory&) = delete;
  EndMemory& operator=(const EndMemory&) = delete;

  [[nodiscard]] bool on_host() const noexcept { return end_.on_host(); }
  // As a copy, or the host, addresses it.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  // As kernels of the current GPU address it; not for pageable memory.
  [[nodiscard]] std::byte* device_data() const;
  // Evicts memory of the host from the CPU's caches; nothing to do for write-combined memory, which is in
  // none, and for that of a GPU.
  void flush() const;

  // Throws FailedError where managed memory has left the host.
  void expect_on_host() const;
  // Fills all of it with the pattern, and waits.
  void fill(std::uint32_t seed) const;
  // Throws FailedError, naming the first wrong word, unless it holds what was sent.
  void expect_payload() const;
  // What it holds now. Nothing may be writing to it.
  [[nodiscard]] HostView read() const;

 private:
  [[nodiscard]] void* take_on_host(const Surroundings& surroundings, std::uint64_t others);
  // From the reserve, where there is one.
  const cuda::PinnedBuffer& take_pinned(const Surroundings& surroundings);
  // Bytes with the offset before them.
  [[nodiscard]] std::uint64_t whole() const noexcept {
    return bytes_ + static_cast<std::uint64_t>(offset_bytes_);
  }
  [[nodiscard]] bool cached() const noexcept { return end_.placement != Placement::write_combined; }
  [[nodiscard]] std::uint32_t* words() const noexcept { return reinterpret_cast<std::uint32_t*>(data_); }
  [[nodiscard]] std::uint64_t word_count() const noexcept { return bytes_ / sizeof(std::uint32_t); }

  Endpoint end_;
  std::uint64_t bytes_;
  int offset_bytes_;
  std::optional<HostMemory> pageable_;
  std::optional<cuda::Registration> registration_;  // of `pageable_`: freed before it
  std::optional<cuda::PinnedBuffer> pinned_;
  std::optional<cuda::MappedMemory> managed_;
  cuda::PinnedReserve* reserve_ = nullptr;  // that `pinned_` goes back to
  std::optional<cuda::DeviceBuffer> device_;
  std::byte* data_ = nullptr;
};

struct BothEnds {
  BothEnds(const Endpoint& from, const Endpoint& to, std::uint64_t bytes, const Surroundings& surroundings)
      : source(from, bytes, surroundings), destination(to, bytes, surroundings) {}
  // Fills the source with payload, the destination with poison, and waits.
  void fill() const;

  EndMemory source;
  EndMemory destination;
};

}  // namespace grainscope::transfer

#endif
