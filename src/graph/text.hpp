#ifndef GRAINSCOPE_SRC_GRAPH_TEXT_HPP
#define GRAINSCOPE_SRC_GRAPH_TEXT_HPP

// Texts that many threads parse: cut at ends of lines, with faults kept as places, so that lines are only
// counted for the one message that needs their number.

#include <cstdint>
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

}  // namespace grainscope::graph

#endif
