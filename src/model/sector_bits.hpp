#ifndef GRAINSCOPE_MODEL_SECTOR_BITS_HPP
#define GRAINSCOPE_MODEL_SECTOR_BITS_HPP

// Which sectors were ever read: a bit each, set by many threads at once.

#include <cstdint>
#include <span>

namespace grainscope::model {

// Sets bits `first` to `last`, both included; how many of them were not set before. Of several threads that
// set the same bit, one counts it.
[[nodiscard]] std::uint64_t set_bits(std::span<std::uint64_t> words, std::uint64_t first, std::uint64_t last);

}  // namespace grainscope::model

#endif
