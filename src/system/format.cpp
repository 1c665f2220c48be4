// Quantities as a reader likes them.

#include "format.hpp"

#include <array>
#include <cstdio>

namespace grainscope {

std::string format_number(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string format_khz(std::uint64_t khz) {
  return format_number(static_cast<double>(khz) / 1e6, 2) + " GHz";
}

std::string count_of(std::uint64_t count, const std::string& noun) {
  const std::string ending = noun.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : separator) + word;
  }
  return text;
}

std::string format_cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace grainscope
