#include "grainscope/cuda/managed_budget.hpp"

#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::cuda {

std::uint64_t ManagedBudget::available(int gpu) const {
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

void ManagedBudget::reserve(int gpu, std::uint64_t bytes) {
  const std::uint64_t left = available(gpu);
  if (bytes > left) {
    throw SkipError("needs " + format_bytes(bytes) + " of managed memory; " + format_bytes(left) +
                    " are left under the cap of a quarter of what GPU " + std::to_string(gpu) +
                    " has free (oversubscribing it can hang a GPU that others share)");
  }
  live_bytes_[gpu] += bytes;
}

void ManagedBudget::release(int gpu, std::uint64_t bytes) noexcept {
  const auto live = live_bytes_.find(gpu);
  if (live != live_bytes_.end()) {
    live->second -= bytes;
  }
}

}  // namespace grainscope::cuda
