// Wrapping labelled values to the width of a terminal.

#include "text_table.hpp"

#include <algorithm>

#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kLabelEnd = 20;

// Columns that a text takes: bytes that continue a character in UTF-8 take none.
std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char byte : text) {
    count += (static_cast<unsigned char>(byte) & 0xc0) != 0x80 ? 1 : 0;
  }
  return count;
}

}  // namespace

void TextTable::section(const std::string& title) {
  text_ += (text_.empty() ? "" : "\n") + title + "\n";
}

void TextTable::row(const std::string& label, const std::string& value) {
  std::string line = "  " + label;
  line.append(kLabelEnd - std::min(columns(line), kLabelEnd - 1), ' ');
  bool first_word = true;
  for (const std::string& word : sysfs::split_words(value)) {
    if (!first_word && columns(line) + 1 + columns(word) > kColumns) {
      text_ += line + "\n";
      line.assign(kLabelEnd, ' ');
      first_word = true;
    }
    line += (first_word ? "" : " ") + word;
    first_word = false;
  }
  text_ += line + "\n";
}

}  // namespace grainscope
