#ifndef GRAINSCOPE_SRC_GRAPH_TEXT_HPP
#define GRAINSCOPE_SRC_GRAPH_TEXT_HPP

// Texts that many threads parse: cut at ends of lines, with faults kept as places, so that lines are only
// counted for the one message that needs their number.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "parallel.hpp"

namespace grainscope::graph {

// A text in memory that someone else owns.
struct Text {
  std::string name;  // for messages: the path, or what it is
  std::string_view bytes;
};

// What is wrong with a text, and where.
struct TextFault {
  const char* at;
  std::string what;
};

// Throws UsageError: "graph.el:17: what".
[[noreturn]] void refuse(const Text& text, const char* at, const std::string& what);

// "'abc'": the word that begins there, short and printable whatever it is.
[[nodiscard]] std::string quoted(const char* at, const char* end);

// Whole lines, a piece for each turn of a thread; the last line may lack its end.
[[nodiscard]] std::vector<std::string_view> cut_at_lines(std::string_view text);

// Calls body(0) … body(count − 1) by all threads and throws UsageError for the first TextFault.
template <class Body>
void for_chunks(const Text& text, std::uint64_t count, const Body& body) {
  try {
    for_each_index(count, body);
  } catch (const TextFault& fault) {
    refuse(text, fault.at, fault.what);
  }
}

// As many vertices as a text of that size may speak of, so that one high number in it does not ask for
// gigabytes: one a byte, or a million.
[[nodiscard]] constexpr std::uint64_t most_vertices(std::uint64_t bytes) {
  constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
  const std::uint64_t most = bytes < kAlways ? kAlways : bytes;
  return most < UINT32_MAX ? most : UINT32_MAX;
}

// Words and whole numbers of a line. Each function leaves the cursor behind what it took and throws
// TextFault, with the place, for anything else.

struct Cursor {
  const char* at;
  const char* end;

  explicit Cursor(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}
  [[nodiscard]] bool at_end() const { return at == end; }
  [[nodiscard]] bool at_line_end() const { return at == end || *at == '\n'; }
};

// '\r' is one, so that lines may end as on Windows.
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

inline void skip_blanks(Cursor& cursor) {
  while (!cursor.at_end() && is_blank(*cursor.at)) {
    ++cursor.at;
  }
}

// To the first byte of the next line, or the end.
inline void next_line(Cursor& cursor) {
  const auto left = static_cast<std::size_t>(cursor.end - cursor.at);
  const void* found = left == 0 ? nullptr : std::memchr(cursor.at, '\n', left);
  cursor.at = found == nullptr ? cursor.end : static_cast<const char*>(found) + 1;
}

// Throws TextFault saying why what stands at `start` is no `what` of at most `most`.
[[noreturn]] void throw_no_number(const char* start, const Cursor& cursor, const char* what,
                                  std::uint64_t most);

// A whole number from 0 to `most`, which must be below 2⁶⁰; `what` it is, for messages ("vertex").
inline std::uint64_t take_number(Cursor& cursor, const char* what, std::uint64_t most) {
  const char* const start = cursor.at;
  std::uint64_t value = 0;
  while (!cursor.at_end()) {
    const auto digit = static_cast<unsigned>(*cursor.at) - unsigned{'0'};
    if (digit > 9) {
      break;
    }
    value = value * 10 + digit;
    if (value > most) {
      throw_no_number(start, cursor, what, most);
    }
    ++cursor.at;
  }
  if (cursor.at == start || !(cursor.at_line_end() || is_blank(*cursor.at))) {
    throw_no_number(start, cursor, what, most);
  }
  return value;
}

// The same of a number that may be written with a point or an exponent, but must be whole.
[[nodiscard]] std::uint64_t take_whole_real(Cursor& cursor, const char* what, std::uint64_t most);

// Everything up to the next blank or the line's end; throws TextFault where there is nothing.
std::string_view take_word(Cursor& cursor, const char* what);

// The line's end, behind blanks; throws TextFault for a further word, telling what a line is.
void take_line_end(Cursor& cursor, const char* a_line_is);

// Whether a line begins here that is empty or a comment; leaves the cursor at its first word.
[[nodiscard]] inline bool holds_nothing(Cursor& cursor) {
  skip_blanks(cursor);
  return cursor.at_line_end() || *cursor.at == '#' || *cursor.at == '%';
}

}  // namespace grainscope::graph

#endif
