#include "fields.hpp"

#include <charconv>
#include <cmath>

namespace grainscope::graph {
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
