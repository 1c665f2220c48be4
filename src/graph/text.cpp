#include "text.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::graph {

void refuse(const Text& text, const char* at, const std::string& what) {
  const auto line = 1 + std::count(text.bytes.data(), at, '\n');
  throw UsageError(text.name + ":" + std::to_string(line) + ": " + what);
}

std::string quoted(const char* at, const char* end) {
  constexpr std::size_t kMost = 24;
  constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::string word = "'";
  for (std::size_t i = 0; at != end && *at != ' ' && *at != '\t' && *at != '\n' && *at != '\r'; ++at, ++i) {
    if (i == kMost) {
      return word + "…'";
    }
    const auto byte = static_cast<unsigned char>(*at);
    if (byte > 0x20 && byte < 0x7f) {
      word += *at;
    } else {
      word += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return word + "'";
}

std::vector<std::string_view> cut_at_lines(std::string_view text) {
  const auto turns = static_cast<std::uint64_t>(omp_get_max_threads()) * 8;
  const auto size = std::clamp<std::uint64_t>(text.size() / turns, 64 * kKiB, 4 * kMiB);
  std::vector<std::string_view> chunks;
  while (!text.empty()) {
    std::size_t length = text.size();
    if (length > size) {
      const auto end = text.find('\n', size - 1);
      length = end == std::string_view::npos ? length : end + 1;
    }
    chunks.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return chunks;
}

}  // namespace grainscope::graph
