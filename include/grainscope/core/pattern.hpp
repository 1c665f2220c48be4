#ifndef GRAINSCOPE_CORE_PATTERN_HPP
#define GRAINSCOPE_CORE_PATTERN_HPP

// What every buffer is filled with, so that a copy can be checked word by word on either side: each
// 32-bit word follows from its index and a seed.

#include <cstddef>
#include <cstdint>
#include <optional>

namespace grainscope {

// The word at `index`, the same on the host and on a GPU (constexpr functions run there too). A mixing
// function: neighbouring words and neighbouring seeds have nothing in common.
constexpr std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  auto x = static_cast<std::uint32_t>(index) ^ (static_cast<std::uint32_t>(index >> 32) * 0x9e3779b9U) ^
           (seed * 0x85ebca6bU);
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

// Fills `words` 32-bit words at `data` (host memory), with as many threads as pay.
void fill_pattern(std::uint32_t* data, std::size_t words, std::uint32_t seed);

// The first word of `data` (host memory) that does not hold the pattern, if any.
[[nodiscard]] std::optional<std::size_t> find_mismatch(const std::uint32_t* data, std::size_t words,
                                                       std::uint32_t seed);

// Sum, mod 2⁶⁴, of the pattern's words [first, first + words): what a kernel that reads them all returns.
[[nodiscard]] std::uint64_t pattern_sum(std::uint64_t first, std::uint64_t words, std::uint32_t seed);

}  // namespace grainscope

#endif
