// Cutting, quoting and refusing texts, and the words and numbers of a line.

#include "text.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

namespace {

std::string range(const char* what, std::uint64_t most) {
  return std::string("a ") + what + " is a whole number from 0 to " + std::to_string(most);
}

}  // namespace

void throw_no_number(const char* start, const Cursor& cursor, const char* what, std::uint64_t most) {
  if (start == cursor.end || *start == '\n' || *start == '\r') {
    throw TextFault{start, std::string("the line ends where a ") + what + " should stand"};
  }
  throw TextFault{start, quoted(start, cursor.end) + ": " + range(what, most)};
}

std::uint64_t take_whole_real(Cursor& cursor, const char* what, std::uint64_t most) {
  const char* const start = cursor.at;
  const std::string_view word = take_word(cursor, what);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0) ||
      value > static_cast<double>(most) || value != std::floor(value)) {
    throw_no_number(start, cursor, what, most);
  }
  return static_cast<std::uint64_t>(value);
}

std::string_view take_word(Cursor& cursor, const char* what) {
  const char* const start = cursor.at;
  while (!cursor.at_line_end() && !is_blank(*cursor.at)) {
    ++cursor.at;
  }
  if (cursor.at == start) {
    throw TextFault{start, std::string("the line ends where a ") + what + " should stand"};
  }
  return {start, static_cast<std::size_t>(cursor.at - start)};
}

void take_line_end(Cursor& cursor, const char* a_line_is) {
  skip_blanks(cursor);
  if (!cursor.at_line_end()) {
    throw TextFault{cursor.at,
                    quoted(cursor.at, cursor.end) + " is one word too many: a line is " + a_line_is};
  }
  if (!cursor.at_end()) {
    ++cursor.at;
  }
}

}  // namespace grainscope::graph
