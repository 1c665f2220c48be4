#include "npy_header.hpp"

#include <charconv>
#include <set>
#include <stdexcept>

namespace grainscope::gnn {
namespace {

constexpr std::size_t kMostDimensions = 32;  // as NumPy has

class Parser {
 public:
  Parser(std::string_view text, const RefuseNpy& refuse) : text_(text), refuse_(refuse) {}

  NpyHeader parse() {
    NpyHeader header;
    std::set<std::string> known;
    expect('{');
    while (!taken('}')) {
      const std::size_t begun = at_;
      const std::string key = quoted();
      if (!known.insert(key).second) {
        fail(begun, "the key '" + shown(key) + "' is there twice");
      }
      expect(':');
      read_value(key, begun, header);
      if (!taken(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) {
      fail(at_, "the header goes on behind its dictionary");
    }
    for (const char* const key : {"descr", "fortran_order", "shape"}) {
      if (!known.contains(key)) {
        fail(text_.size(), std::string("the header has no key '") + key + "'");
      }
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    refuse_(at, what);
    throw std::logic_error("a header that was refused is read on");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool taken(char wanted) {
    skip_blanks();
    const bool there = at_ < text_.size() && text_[at_] == wanted;
    at_ += there ? 1 : 0;
    return there;
  }
  void expect(char wanted) {
    if (!taken(wanted)) {
      fail(at_, std::string("a '") + wanted + "' should stand in the header's dictionary here");
    }
  }

  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) {
      fail(at_, "a word in quotes should stand in the header's dictionary here");
    }
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }

  void read_value(const std::string& key, std::size_t key_at, NpyHeader& header) {
    if (key == "descr") {
      read_descr(header);
    } else if (key == "fortran_order") {
      header.fortran_order = truth();
    } else if (key == "shape") {
      read_shape(header);
    } else {
      fail(key_at, "the key '" + shown(key) + "' is none of a NumPy header");
    }
  }

  // Records have a list in place of a word: named so, and the rest of the header is not looked at.
  void read_descr(NpyHeader& header) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') {
      fail(at_, "its elements are records; float32 ('<f4') and float16 ('<f2') are read");
    }
    header.descr = quoted();
  }

  bool truth() {
    skip_blanks();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail(at_, "True or False should stand in the header's dictionary here");
  }

  void read_shape(NpyHeader& header) {
    expect('(');
    while (!taken(')')) {
      std::uint64_t size = 0;
      skip_blanks();
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc{}) {
        fail(at_, "a number below 2^64 should stand in the array's shape here");
      }
      at_ = static_cast<std::size_t>(end - text_.data());
      header.shape.push_back(size);
      if (header.shape.size() > kMostDimensions) {
        fail(at_, "an array has " + std::to_string(kMostDimensions) + " dimensions at most");
      }
      if (!taken(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const RefuseNpy& refuse_;
  std::size_t at_ = 0;
};

}  // namespace

std::string shown(std::string_view word) {
  constexpr std::size_t kMostLetters = 40;
  std::string text(word.substr(0, kMostLetters));
  for (char& letter : text) {
    letter = letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text + (word.size() > kMostLetters ? "…" : "");
}

NpyHeader parse_npy_header(std::string_view text, const RefuseNpy& refuse) {
  return Parser(text, refuse).parse();
}

}  // namespace grainscope::gnn
