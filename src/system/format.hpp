#ifndef GRAINSCOPE_SRC_SYSTEM_FORMAT_HPP
#define GRAINSCOPE_SRC_SYSTEM_FORMAT_HPP

// Quantities as a reader likes them.

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "grainscope/core/units.hpp"  // format_bytes

namespace grainscope {

// A number with `digits` after the point.
[[nodiscard]] inline std::string format_number(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

// `3.50 GHz`
[[nodiscard]] inline std::string format_khz(std::uint64_t khz) {
  return format_number(static_cast<double>(khz) / 1e6, 2) + " GHz";
}

// `1 CPU`, `2 CPUs`, `2 processes`
[[nodiscard]] inline std::string count_of(std::uint64_t count, const std::string& noun) {
  const std::string ending = noun.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

// `a, b, c`
[[nodiscard]] inline std::string join(const std::vector<std::string>& words,
                                      const std::string& separator = ", ") {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : separator) + word;
  }
  return text;
}

// `13.0` for 13000, as CUDA counts versions.
[[nodiscard]] inline std::string format_cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace grainscope

#endif
