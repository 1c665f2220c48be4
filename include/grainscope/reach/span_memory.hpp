#ifndef GRAINSCOPE_REACH_SPAN_MEMORY_HPP
#define GRAINSCOPE_REACH_SPAN_MEMORY_HPP

// Memory that a GPU reads over a link, of one kind and up to most of what there is: taken chunk by chunk, and
// looked before each whether there is room for it.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "grainscope/core/units.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/limits.hpp"

namespace grainscope::reach {

// How much more host memory may be taken, in bytes, without driving the machine into want.
// `at_start`, `now`: what was available before anything was taken, and is now; `held`: taken since.
// The control group bounds, where there is one: nine tenths of what it leaves, less 2 GiB. What was held
// counts by itself, since pages that the driver takes need not be charged to the group. MemAvailable bounds
// in the same way only where there is no group (on some virtual machines it grows as memory is touched), but
// a GiB of it must remain in any case.
[[nodiscard]] std::uint64_t room_for_more(const AvailableMemory& at_start, const AvailableMemory& now,
                                          std::uint64_t held);
// The same before anything is taken.
[[nodiscard]] std::uint64_t can_take(const AvailableMemory& available);

// A kernel carries the table of chunks among its parameters.
inline constexpr std::uint64_t kMostChunks = 256;

// The pattern's seed of what is in the memory; word 0 is the first of the first chunk.
inline constexpr std::uint32_t kSpanSeed = 1;

struct SpanRequest {
  cuda::MappedRequest memory;
  std::uint64_t chunk_bytes = kGiB;  // a power of two, at least a page of 4 KiB
  std::function<AvailableMemory()> available = [] { return available_memory(); };
};

class SpanMemory {
 public:
  // Takes nothing yet; the surroundings outlive it. Throws UsageError for an impossible size of chunks; in a
  // build without CUDA always SkipError.
  SpanMemory(const cuda::Surroundings& surroundings, SpanRequest request);
  ~SpanMemory();
  SpanMemory(const SpanMemory&) = delete;
  SpanMemory& operator=(const SpanMemory&) = delete;

  // Takes chunks until there are `bytes`, filled with the pattern; what was there stays as it is. Throws
  // SkipError, with the numbers, where there is not that much to take or the kind does not exist here (then
  // it keeps what it has), EnvironmentError where pages or the node are missing, FailedError where memory
  // came to lie on another node.
  void grow(std::uint64_t bytes);

  [[nodiscard]] const SpanRequest& request() const noexcept { return request_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return chunks_.size() * request_.chunk_bytes; }
  // Each chunk's address on the GPU that reads.
  [[nodiscard]] std::vector<void*> device_chunks() const;
  // The same on the host; of a peer's memory null.
  [[nodiscard]] std::vector<void*> host_chunks() const;
  // Throws FailedError where some of it should be on the host and is not.
  void expect_on_host() const;

 private:
  void require_room(std::uint64_t wanted) const;
  void scatter();
  void add_chunk(std::uint64_t wanted);

  cuda::Surroundings surroundings_;
  SpanRequest request_;
  AvailableMemory at_start_;
  std::optional<HostMemory> scattered_;  // pages between which the free ones lie
  std::vector<cuda::MappedMemory> chunks_;
};

}  // namespace grainscope::reach

#endif
