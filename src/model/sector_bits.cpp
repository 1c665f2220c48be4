#include "sector_bits.hpp"

#include <atomic>
#include <bit>

namespace grainscope::model {

std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t last) {
  std::uint64_t fresh = 0;
  for (std::uint64_t i = first / 64; i <= last / 64; ++i) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (i == first / 64) {
      mask &= ~std::uint64_t{0} << (first % 64);
    }
    if (i == last / 64) {
      mask &= ~std::uint64_t{0} >> (63 - last % 64);
    }
    const std::atomic_ref word(words[i]);
    // Looked at first: a level that reads what another has read locks nothing.
    if ((mask & ~word.load(std::memory_order_relaxed)) != 0) {
      fresh +=
          static_cast<std::uint64_t>(std::popcount(mask & ~word.fetch_or(mask, std::memory_order_relaxed)));
    }
  }
  return fresh;
}

}  // namespace grainscope::model
