#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_SCREEN_HPP

// What a stream can show, text that fits it, and the progress of a run.

#include <cstddef>
#include <string>
#include <string_view>

#include "plan.hpp"

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

// The line at the bottom of a terminal that tells how far a run is, and how long it still takes.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] TimeLeft& time_left() { return time_left_; }
  // The visits to come are all that were expected.
  void begin();
  void start_case(const std::string& name);
  void finish_case(const std::string& name);
  // Wipes the line so that something else can be written; `draw` brings it back.
  void wipe() const;
  void draw() const;

 private:
  Screen screen_;
  TimeLeft time_left_;
  std::size_t all_ = 0;
  double begun_s_;
  double latest_s_;
  std::string name_;
};

// A word as a shell takes it: in quotes where it has other than letters, digits and a few signs.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace grainscope::harness

#endif
