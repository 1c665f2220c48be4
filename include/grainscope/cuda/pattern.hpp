#ifndef GRAINSCOPE_CUDA_PATTERN_HPP
#define GRAINSCOPE_CUDA_PATTERN_HPP

// The pattern of core/pattern.hpp, written and checked by the GPU.

#include <cstdint>
#include <optional>

#include "grainscope/cuda/device.hpp"

namespace grainscope::cuda {

// Fills `words` 32-bit words at `data` (any memory that the current GPU can write) with the pattern's words
// from number `first` on, and waits.
void fill_pattern(std::uint32_t* data, std::uint64_t words, std::uint32_t seed, const Stream& stream,
                  std::uint64_t first = 0);

// The first word of `data` (any memory that the current GPU can read) that does not hold the pattern.
[[nodiscard]] std::optional<std::uint64_t> find_mismatch(const std::uint32_t* data, std::uint64_t words,
                                                         std::uint32_t seed, const Stream& stream);

}  // namespace grainscope::cuda

#endif
