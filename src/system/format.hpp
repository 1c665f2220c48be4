#ifndef GRAINSCOPE_SRC_SYSTEM_FORMAT_HPP
#define GRAINSCOPE_SRC_SYSTEM_FORMAT_HPP

// Quantities as a reader likes them.

#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/core/units.hpp"  // format_bytes

namespace grainscope {

// `3.50 GHz`
[[nodiscard]] std::string format_khz(std::uint64_t khz);
// A number with `digits` after the point.
[[nodiscard]] std::string format_number(double number, int digits);
// `1 CPU`, `2 CPUs`, `2 processes`
[[nodiscard]] std::string count_of(std::uint64_t count, const std::string& noun);
// `a, b, c`
[[nodiscard]] std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");
// `13.0` for 13000, as CUDA counts versions.
[[nodiscard]] std::string format_cuda_version(int version);

}  // namespace grainscope

#endif
