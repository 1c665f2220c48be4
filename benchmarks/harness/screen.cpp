#include "screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

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
    std::string locale = variable(name);
    if (!locale.empty()) {
      std::transform(locale.begin(), locale.end(), locale.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
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

}  // namespace grainscope::harness
