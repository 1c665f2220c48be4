// The header of a NumPy file, a Python dictionary of three entries.

#include "npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "grainscope/core/error.hpp"

namespace grainscope::gnn {
namespace {

using graph::BinaryFile;

// Ends by an exception: at which character of the dictionary, and what is wrong there.
using RefuseNpy = std::function<void(std::size_t at, const std::string& what)>;

constexpr std::size_t kMostDimensions = 32;  // as NumPy has

class Parser {
 public:
  Parser(std::string_view text, const NpyKind& kind, const RefuseNpy& refuse)
      : text_(text), kind_(kind), refuse_(refuse) {}

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
      fail(at_, std::string("its elements are records; ") + kind_.reads);
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
  const NpyKind& kind_;
  const RefuseNpy& refuse_;
  std::size_t at_ = 0;
};

// `text`: the dictionary with what pads it. Each of the three keys once, in any order, nothing else.
NpyHeader parse_npy_header(std::string_view text, const NpyKind& kind, const RefuseNpy& refuse) {
  return Parser(text, kind, refuse).parse();
}

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostHeaderBytes = 1 << 16;  // NumPy itself trusts 10,000

// Of the dictionary: where it begins, and how long it is.
struct Extent {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

// A version has one byte each for its numbers; 1.0 has two bytes for the length of what follows, later ones
// four (3.0 differs from 2.0 in letters that no name here has).
Extent extent_of(const BinaryFile& file, const NpyKind& kind) {
  std::array<char, 8> begin{};
  if (file.bytes() < begin.size() + sizeof(std::uint16_t)) {
    kind.refuse(file.path(), "no NumPy file: it has " + std::to_string(file.bytes()) + " bytes");
  }
  file.read(0, begin.data(), begin.size());
  if (std::string_view(begin.data(), kMagic.size()) != kMagic) {
    kind.refuse(file.path(), "no NumPy file: it does not begin with \\x93NUMPY");
  }
  const int version = static_cast<unsigned char>(begin[6]);
  const int minor = static_cast<unsigned char>(begin[7]);
  if (version < 1 || version > 3 || minor != 0) {
    kind.refuse(file.path(), "format version " + std::to_string(version) + "." + std::to_string(minor) +
                                 "; 1.0, 2.0 and 3.0 are read");
  }
  if (version == 1) {
    return {begin.size() + sizeof(std::uint16_t), file.value<std::uint16_t>(begin.size())};
  }
  return {begin.size() + sizeof(std::uint32_t), file.value<std::uint32_t>(begin.size())};
}

NpyHeader header_of(const BinaryFile& file, const Extent& extent, const NpyKind& kind) {
  if (extent.bytes > kMostHeaderBytes || extent.first + extent.bytes > file.bytes()) {
    kind.refuse(file.path(), "its header is said to have " + std::to_string(extent.bytes) +
                                 " bytes; the file has " + std::to_string(file.bytes()) +
                                 ", and a header here " + std::to_string(kMostHeaderBytes) + " at most");
  }
  std::string text(extent.bytes, '\0');
  file.read(extent.first, text.data(), text.size());
  return parse_npy_header(text, kind, [&](std::size_t at, const std::string& what) {
    kind.refuse(file.path(), "byte " + std::to_string(extent.first + at) + ": " + what);
  });
}

}  // namespace

std::string shown(std::string_view word) {
  constexpr std::size_t kMostLetters = 40;
  std::string text(word.substr(0, kMostLetters));
  for (char& letter : text) {
    letter = letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text + (word.size() > kMostLetters ? "…" : "");
}

std::string text_of_shape(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

void NpyKind::refuse(const std::string& path, const std::string& why) const {
  throw InputError(std::string("the ") + what + " " + path + ": " + why);
}

NpyHeader read_npy_header(const BinaryFile& file, const NpyKind& kind) {
  const Extent extent = extent_of(file, kind);
  NpyHeader header = header_of(file, extent, kind);
  header.array_at = extent.first + extent.bytes;
  return header;
}

void require_npy_end(const BinaryFile& file, const NpyKind& kind, const NpyHeader& header,
                     std::uint64_t bytes) {
  const std::uint64_t held = file.bytes() - header.array_at;
  if (held != bytes) {
    kind.refuse(file.path(), "an array of shape " + text_of_shape(header.shape) + " takes " +
                                 std::to_string(bytes) + " bytes behind the header; the file has " +
                                 std::to_string(held) +
                                 (held < bytes ? ": it is cut off" : ": it holds something else as well"));
  }
}

}  // namespace grainscope::gnn
