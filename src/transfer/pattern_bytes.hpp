#ifndef GRAINSCOPE_SRC_TRANSFER_PATTERN_BYTES_HPP
#define GRAINSCOPE_SRC_TRANSFER_PATTERN_BYTES_HPP

// The pattern of core/pattern.hpp byte by byte, for pieces that begin and end anywhere.

#include <cstddef>
#include <cstdint>

namespace grainscope::transfer {

inline constexpr std::uint64_t kNoMismatch = UINT64_MAX;

// The first byte of memory[begin, end) (host) that is not that of the pattern's bytes from `pattern_begin`
// on, or kNoMismatch.
[[nodiscard]] std::uint64_t first_wrong_byte(const std::byte* memory, std::uint64_t begin, std::uint64_t end,
                                             std::uint64_t pattern_begin, std::uint32_t seed);

}  // namespace grainscope::transfer

#endif
