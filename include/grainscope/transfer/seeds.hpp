#ifndef GRAINSCOPE_TRANSFER_SEEDS_HPP
#define GRAINSCOPE_TRANSFER_SEEDS_HPP

#include <cstdint>

namespace grainscope::transfer {

// The pattern's seed of what is moved, and of what lies at the destination before.
inline constexpr std::uint32_t kPayload = 1;
inline constexpr std::uint32_t kPoison = 2;

}  // namespace grainscope::transfer

#endif
