#ifndef GRAINSCOPE_CUDA_BUDGET_HPP
#define GRAINSCOPE_CUDA_BUDGET_HPP

// What a run may take of managed memory, and the pinned memory that its cases hand on. Knows nothing of
// the toolkit.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::cuda {

// Bytes that a GPU has free now. Throws SkipError in a build without CUDA.
[[nodiscard]] std::uint64_t free_memory(int gpu);

// Keeps the sum of live managed allocations below a quarter of what a card has free: oversubscribing
// it can hang a GPU that others share.
class ManagedBudget {
 public:
  // `lift_cap` is --allow-managed-oversubscription: for someone who owns the machine.
  // `free_bytes` tells what a GPU has free: a test's own GPU, or the machine's.
  explicit ManagedBudget(bool lift_cap = false,
                         std::function<std::uint64_t(int gpu)> free_bytes = free_memory)
      : lift_cap_(lift_cap), free_bytes_(std::move(free_bytes)) {}
  ManagedBudget(const ManagedBudget&) = delete;
  ManagedBudget& operator=(const ManagedBudget&) = delete;

  // Throws SkipError with the numbers where `bytes` more would pass the cap of `gpu`.
  void reserve(int gpu, std::uint64_t bytes);
  void release(int gpu, std::uint64_t bytes) noexcept;
  // What may still be reserved, given what the card has free now.
  [[nodiscard]] std::uint64_t available(int gpu) const;

 private:
  bool lift_cap_;
  std::function<std::uint64_t(int)> free_bytes_;
  std::map<int, std::uint64_t> live_bytes_;
};

inline std::uint64_t ManagedBudget::available(int gpu) const {
  const std::uint64_t free_bytes = free_bytes_(gpu);
  if (lift_cap_) {
    return UINT64_MAX;
  }
  const auto live = live_bytes_.find(gpu);
  const std::uint64_t used = live == live_bytes_.end() ? 0 : live->second;
  // What lives on the card already is no longer in `free_bytes`; counting it twice errs to the safe side.
  const std::uint64_t cap = free_bytes / 4;
  return cap > used ? cap - used : 0;
}

inline void ManagedBudget::reserve(int gpu, std::uint64_t bytes) {
  const std::uint64_t left = available(gpu);
  if (bytes > left) {
    throw SkipError("needs " + format_bytes(bytes) + " of managed memory; " + format_bytes(left) +
                    " are left under the cap of a quarter of what GPU " + std::to_string(gpu) +
                    " has free (oversubscribing it can hang a GPU that others share)");
  }
  live_bytes_[gpu] += bytes;
}

inline void ManagedBudget::release(int gpu, std::uint64_t bytes) noexcept {
  const auto live = live_bytes_.find(gpu);
  if (live != live_bytes_.end()) {
    live->second -= bytes;
  }
}

class PinnedBuffer;

// Pinned host memory that was given back and waits to be taken again: to lock a GiB takes half a second, and
// most cases use it for milliseconds. Not thread-safe.
class PinnedReserve {
 public:
  PinnedReserve();
  ~PinnedReserve();
  PinnedReserve(const PinnedReserve&) = delete;
  PinnedReserve& operator=(const PinnedReserve&) = delete;

  // At least so many bytes on a node, where the calling thread is bound: given back before, or new. Holds
  // whatever the last user left in it. Throws as PinnedBuffer.
  [[nodiscard]] PinnedBuffer take(std::uint64_t bytes, int node);
  // Keeps the two largest of each node that were given back, of at most 1 GiB each.
  void give_back(PinnedBuffer buffer, int node);
  // Frees all: whoever takes next gets other pages.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace grainscope::cuda

#endif
