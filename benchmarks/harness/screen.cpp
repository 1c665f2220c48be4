#include "screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 1000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t width_of(int stream) {
  const std::string columns = variable("COLUMNS");
  const bool number =
      !columns.empty() && columns.size() <= 4 && columns.find_first_not_of("0123456789") == std::string::npos;
  if (number && columns.find_first_not_of('0') != std::string::npos) {
    return std::clamp(static_cast<std::size_t>(std::stoul(columns)), kNarrowest, kWidest);
  }
  winsize size{};
  if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
  }
  return Screen{}.width;
}

// The first of these variables that is set decides, as for every program.
bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const std::string locale = lower(variable(name)); !locale.empty()) {
      return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
  }
  return false;
}

bool begins_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Where the letter of that number begins.
std::size_t place_of(std::string_view text, std::size_t letter) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_letter(text[at]) && letter-- == 0) {
      break;
    }
  }
  return at;
}

// Of whole words: behind `from` stands no letter.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
    const char behind = at + from.size() < text.size() ? text[at + from.size()] : ' ';
    if (std::isalpha(static_cast<unsigned char>(behind)) == 0) {
      text.replace(at, from.size(), to);
    }
  }
}

}  // namespace

Screen screen_of(int stream, const std::string& color) {
  Screen screen;
  screen.width = width_of(stream);
  screen.terminal = isatty(stream) != 0;
  screen.color = color == "auto" ? screen.terminal && variable("NO_COLOR").empty() : color == "true";
  screen.utf8 = shows_utf8();
  return screen;
}

std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_letter));
}

std::string for_screen(std::string text, const Screen& screen) {
  if (screen.utf8) {
    replace_all(text, " us", " µs");
    replace_all(text, "+-", "±");
  }
  return text;
}

std::string shortened(const std::string& text, std::size_t width) {
  constexpr std::string_view kLeftOut = "..";
  const std::size_t size = letters(text);
  if (size <= width) {
    return text;
  }
  if (width <= kLeftOut.size()) {
    return text.substr(0, place_of(text, width));
  }
  const std::size_t before = (width - kLeftOut.size() + 1) / 2;
  const std::size_t behind = width - kLeftOut.size() - before;
  return text.substr(0, place_of(text, before)).append(kLeftOut) + text.substr(place_of(text, size - behind));
}

std::string filled(const std::string& text, std::size_t width, bool right) {
  const std::string blanks(width - std::min(width, letters(text)), ' ');
  return right ? blanks + text : text + blanks;
}

std::string wrapped(const std::string& label, const std::string& text, std::size_t indent,
                    std::size_t width) {
  std::string result = filled(label, indent);
  std::size_t column = std::max(indent, letters(label));
  bool begun = false;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (begun && column + 1 + letters(word) > width) {
      result.append("\n").append(indent, ' ');
      column = indent;
    } else if (begun) {
      result += ' ';
      ++column;
    }
    result += word;
    column += letters(word);
    begun = true;
    start = end + 1;
  }
  return result + "\n";
}

namespace {

// In whole seconds: more digits would be invented.
std::string whole_seconds(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole < 60 ? std::to_string(whole) + " s" : format_seconds(static_cast<double>(whole));
}

}  // namespace

Progress::Progress() : screen_(screen_of(STDERR_FILENO)), begun_s_(steady_now_s()), latest_s_(begun_s_) {}

Progress::~Progress() {
  wipe();
}

void Progress::begin() {
  all_ = time_left_.visits();
  begun_s_ = latest_s_ = steady_now_s();
}

void Progress::start_case(const std::string& name) {
  name_ = name;
  wipe();
  draw();
}

void Progress::finish_case(const std::string& name) {
  const double now_s = steady_now_s();
  time_left_.finished(name, now_s - latest_s_);
  latest_s_ = now_s;
}

void Progress::wipe() const {
  if (screen_.terminal) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::draw() const {
  if (!screen_.terminal) {
    return;
  }
  const double left_s = time_left_.seconds();
  const double passed_s = latest_s_ - begun_s_;
  std::array<char, 96> head{};
  std::snprintf(head.data(), head.size(), "%.0f %%, %s left, visit %zu of %zu: ",
                passed_s + left_s > 0 ? 100 * passed_s / (passed_s + left_s) : 0,
                whole_seconds(left_s).c_str(), std::min(all_ - time_left_.visits() + 1, all_), all_);
  const std::string line = head.data() + name_;
  // The last column stays free: a terminal may go on to the next line when it is written to.
  std::fputs(for_screen(line.substr(0, screen_.width - 1), screen_).c_str(), stderr);
  std::fflush(stderr);
}

std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_./:=@%+,-").find(letter) != std::string_view::npos;
  });
  if (plain && !text.empty()) {
    return text;
  }
  std::string word = "'";
  for (const char letter : text) {
    word += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return word + "'";
}

}  // namespace grainscope::harness
