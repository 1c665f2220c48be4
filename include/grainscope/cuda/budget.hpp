#ifndef GRAINSCOPE_CUDA_BUDGET_HPP
#define GRAINSCOPE_CUDA_BUDGET_HPP

// What a run may take of a GPU's memory and of managed memory, and the pinned memory that its cases hand on.
// Knows nothing of the toolkit.

#include <algorithm>
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

// Takes bytes of a GPU's memory by an ordinary allocation, so that the card stands in for a smaller one until
// what it returns is gone. Throws SkipError where it has not so many free beside what a context needs.
[[nodiscard]] std::shared_ptr<void> hold_memory(int gpu, std::uint64_t bytes);

// Whether managed memory may come to a GPU, or is to stay on the host and be read from there.
enum class ManagedUse { may_migrate, stays_on_host };

// Keeps live managed allocations within what a card has free: those that may migrate within a quarter, all of
// them together within three quarters. Oversubscribing a card can hang it, and others may share it. Copies
// keep one account.
class ManagedBudget {
 public:
  // `lift_cap` is --allow-managed-oversubscription: for someone who owns the machine.
  // `free_bytes` tells what a GPU has free: a test's own GPU, or the machine's.
  explicit ManagedBudget(bool lift_cap = false,
                         std::function<std::uint64_t(int gpu)> free_bytes = free_memory)
      : lift_cap_(lift_cap), free_bytes_(std::move(free_bytes)) {}

  // Throws SkipError with the numbers where `bytes` more would pass a cap of `gpu`.
  void reserve(int gpu, std::uint64_t bytes, ManagedUse use = ManagedUse::may_migrate);
  void release(int gpu, std::uint64_t bytes, ManagedUse use = ManagedUse::may_migrate) noexcept;
  // What may still be reserved, given what the card has free now.
  [[nodiscard]] std::uint64_t available(int gpu, ManagedUse use = ManagedUse::may_migrate) const;

 private:
  struct Live {
    std::uint64_t may_migrate = 0;
    std::uint64_t stays_on_host = 0;
  };
  bool lift_cap_;
  std::function<std::uint64_t(int)> free_bytes_;
  std::shared_ptr<std::map<int, Live>> live_ = std::make_shared<std::map<int, Live>>();
};

inline std::uint64_t ManagedBudget::available(int gpu, ManagedUse use) const {
  const std::uint64_t free_bytes = free_bytes_(gpu);
  if (lift_cap_) {
    return UINT64_MAX;
  }
  const auto found = live_->find(gpu);
  const Live live = found == live_->end() ? Live{} : found->second;
  const auto left = [](std::uint64_t cap, std::uint64_t used) { return cap > used ? cap - used : 0; };
  // What lives on the card already is no longer in `free_bytes`; counting it twice errs to the safe side.
  const std::uint64_t of_all = left(free_bytes / 4 * 3, live.may_migrate + live.stays_on_host);
  return use == ManagedUse::stays_on_host ? of_all : std::min(of_all, left(free_bytes / 4, live.may_migrate));
}

inline void ManagedBudget::reserve(int gpu, std::uint64_t bytes, ManagedUse use) {
  const std::uint64_t left = available(gpu, use);
  const bool stays = use == ManagedUse::stays_on_host;
  if (bytes > left) {
    throw SkipError("needs " + format_bytes(bytes) + " of managed memory" +
                    (stays ? " that stays on the host" : "") + "; " + format_bytes(left) +
                    " are left under the cap of " + (stays ? "three quarters" : "a quarter") +
                    " of what GPU " + std::to_string(gpu) +
                    " has free (oversubscribing it can hang a GPU that others share)");
  }
  Live& live = (*live_)[gpu];
  (stays ? live.stays_on_host : live.may_migrate) += bytes;
}

inline void ManagedBudget::release(int gpu, std::uint64_t bytes, ManagedUse use) noexcept {
  const auto live = live_->find(gpu);
  if (live != live_->end()) {
    (use == ManagedUse::stays_on_host ? live->second.stays_on_host : live->second.may_migrate) -= bytes;
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
