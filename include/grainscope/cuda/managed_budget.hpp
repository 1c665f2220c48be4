#ifndef GRAINSCOPE_CUDA_MANAGED_BUDGET_HPP
#define GRAINSCOPE_CUDA_MANAGED_BUDGET_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

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

}  // namespace grainscope::cuda

#endif
