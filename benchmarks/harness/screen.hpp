#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP

// What a stream can show, and text that fits it.

#include <cstddef>
#include <string>
#include <string_view>

namespace grainscope::harness {

struct Screen {
  std::size_t width = 100;  // in letters
  bool terminal = false;    // a line on it can be written anew
  bool color = false;
  bool utf8 = false;
};

// Of standard output or standard error. The width is that of COLUMNS, else the terminal's, else 100, and 40
// at least. `color`: auto is where the stream is a terminal and NO_COLOR is not set.
[[nodiscard]] Screen screen_of(int stream, const std::string& color = "auto");

// How many letters it shows, of text in UTF-8 without escapes.
[[nodiscard]] std::size_t letters(std::string_view text);

// The text as the screen can show it: "3.79 µs ±0.5 %" where it shows UTF-8, else "3.79 us +-0.5 %". The
// suite's own text has "us" and "+-".
[[nodiscard]] std::string for_screen(std::string text, const Screen& screen);

// At most `width` letters: what is too long lacks its middle, since names differ at either end.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t width);

// Exactly `width` letters where it has no more, filled up behind or, `right`, before.
[[nodiscard]] std::string filled(const std::string& text, std::size_t width, bool right = false);

// A label and a text behind it, in lines that begin at `indent` and have at most `width` letters.
[[nodiscard]] std::string wrapped(const std::string& label, const std::string& text, std::size_t indent = 12,
                                  std::size_t width = 88);

}  // namespace grainscope::harness

#endif
