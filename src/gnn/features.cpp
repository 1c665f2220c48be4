// What feature tables hold: a closed form, or the rows of a NumPy file, whose header is a Python
// dictionary of three entries.

#include "grainscope/gnn/features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../graph/files.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/graphsage.hpp"

namespace grainscope::gnn {
namespace {

// What the header of a NumPy file says.
struct NpyHeader {
  std::string descr;  // "<f4"; of records "["
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Ends by an exception: at which character of the dictionary, and what is wrong there.
using RefuseNpy = std::function<void(std::size_t at, const std::string& what)>;

constexpr std::size_t kMostDimensions = 32;  // as NumPy has

// A word of a header for a message: its beginning, other letters than ASCII's as '?'.
std::string shown(std::string_view word) {
  constexpr std::size_t kMostLetters = 40;
  std::string text(word.substr(0, kMostLetters));
  for (char& letter : text) {
    letter = letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text + (word.size() > kMostLetters ? "…" : "");
}

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

// `text`: the dictionary with what pads it. Each of the three keys once, in any order, nothing else.
NpyHeader parse_npy_header(std::string_view text, const RefuseNpy& refuse) {
  return Parser(text, refuse).parse();
}

using graph::BinaryFile;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kMostHeaderBytes = 1 << 16;  // NumPy itself trusts 10,000
constexpr std::uint64_t kPadding = 16;               // what headers are padded to, at least

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw UsageError("the feature table " + path + ": " + what);
}

// Of the dictionary: where it begins, and how long it is.
struct Extent {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

// A version has one byte each for its numbers; 1.0 has two bytes for the length of what follows, later ones
// four (3.0 differs from 2.0 in letters that no name here has).
Extent extent_of(const BinaryFile& file) {
  std::array<char, 8> begin{};
  if (file.bytes() < begin.size() + sizeof(std::uint16_t)) {
    refuse(file.path(), "no NumPy file: it has " + std::to_string(file.bytes()) + " bytes");
  }
  file.read(0, begin.data(), begin.size());
  if (std::string_view(begin.data(), kMagic.size()) != kMagic) {
    refuse(file.path(), "no NumPy file: it does not begin with \\x93NUMPY");
  }
  const int version = static_cast<unsigned char>(begin[6]);
  const int minor = static_cast<unsigned char>(begin[7]);
  if (version < 1 || version > 3 || minor != 0) {
    refuse(file.path(), "format version " + std::to_string(version) + "." + std::to_string(minor) +
                            "; 1.0, 2.0 and 3.0 are read");
  }
  if (version == 1) {
    return {begin.size() + sizeof(std::uint16_t), file.value<std::uint16_t>(begin.size())};
  }
  return {begin.size() + sizeof(std::uint32_t), file.value<std::uint32_t>(begin.size())};
}

NpyHeader header_of(const BinaryFile& file, const Extent& extent) {
  if (extent.bytes > kMostHeaderBytes || extent.first + extent.bytes > file.bytes()) {
    refuse(file.path(), "its header is said to have " + std::to_string(extent.bytes) +
                            " bytes; the file has " + std::to_string(file.bytes()) +
                            ", and a table's header " + std::to_string(kMostHeaderBytes) + " at most");
  }
  std::string text(extent.bytes, '\0');
  file.read(extent.first, text.data(), text.size());
  return parse_npy_header(text, [&](std::size_t at, const std::string& what) {
    refuse(file.path(), "byte " + std::to_string(extent.first + at) + ": " + what);
  });
}

std::uint32_t element_of(const std::string& path, const std::string& descr) {
  if (descr != "<f4" && descr != "<f2") {
    refuse(path, "its elements are '" + shown(descr) +
                     "'; float32 ('<f4') and float16 ('<f2') are read: save it with array.astype('<f4')");
  }
  return descr == "<f4" ? sizeof(float) : sizeof(std::uint16_t);
}

std::string text_of(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  }
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

// Rows and columns that can be counted, whose bytes fit into 64 bits.
void require_table(const std::string& path, const NpyHeader& header, std::uint32_t element) {
  if (header.shape.size() != 2) {
    refuse(path,
           "an array of shape " + text_of(header.shape) + "; a table has two dimensions, rows and columns");
  }
  if (header.fortran_order) {
    refuse(path,
           "its array is in Fortran order, column by column: save it with numpy.ascontiguousarray(array)");
  }
  const std::uint64_t rows = header.shape[0];
  const std::uint64_t columns = header.shape[1];
  if (rows == 0 || columns == 0) {
    refuse(path, "an array of shape " + text_of(header.shape) + " has nothing to gather");
  }
  if (columns > kMostRowBytes / element) {
    refuse(path, std::to_string(columns) + " columns of " + std::to_string(element) +
                     " bytes: gathers load rows of " + format_bytes(kMostRowBytes) + " at most");
  }
  if (rows >= std::numeric_limits<std::uint32_t>::max()) {
    refuse(path, std::to_string(rows) + " rows; a table has 2^32 - 2 at most");
  }
}

}  // namespace

NpyFile::NpyFile(const std::string& path) : path_(path) {
  const BinaryFile file(path, "feature table");
  const Extent extent = extent_of(file);
  const NpyHeader header = header_of(file, extent);
  element_ = element_of(path, header.descr);
  require_table(path, header, element_);
  rows_ = static_cast<std::uint32_t>(header.shape[0]);
  columns_ = static_cast<std::uint32_t>(header.shape[1]);
  const std::uint64_t first = extent.first + extent.bytes;
  if (first % kPadding != 0) {
    refuse(path, "its array begins at byte " + std::to_string(first) +
                     ", which is no multiple of 16 as NumPy makes it: save it again");
  }
  if (file.bytes() - first != bytes()) {
    const bool cut = file.bytes() - first < bytes();
    refuse(path, "an array of shape " + text_of(header.shape) + " takes " + std::to_string(bytes()) +
                     " bytes behind the header; the file has " + std::to_string(file.bytes() - first) +
                     (cut ? ": it is cut off" : ": it holds something else as well"));
  }
  array_ = HostBytes::map_file(path, first, bytes());
}

std::string NpyFile::stem() const {
  return std::filesystem::path(path_).stem().string();
}

void require_row_for_each(const NpyFile& file, std::uint64_t vertices, const std::string& graph) {
  if (file.rows() != vertices) {
    refuse(file.path(), std::to_string(file.rows()) + " rows; the graph " + graph + " has " +
                            std::to_string(vertices) + " vertices, and each needs one row");
  }
}

namespace {

using graph::Vertex;

constexpr std::size_t kMostLookedAt = 4096;  // rows
// The rest of the process, and of the machine, needs some too.
constexpr double kUsableShare = 0.8;

// IEEE 754 binary16 as binary32, which has all of its values.
float widened(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace

Features::Features(std::shared_ptr<const NpyFile> file, std::vector<Vertex> vertex_of)
    : file_(std::move(file)), vertex_of_(std::move(vertex_of)), columns_(file_->columns()) {
  const auto beyond =
      std::find_if(vertex_of_.begin(), vertex_of_.end(), [&](Vertex v) { return v >= file_->rows(); });
  if (beyond != vertex_of_.end() || (!vertex_of_.empty() && vertex_of_.size() != file_->rows())) {
    throw UsageError("the feature table " + file_->path() + " of " + std::to_string(file_->rows()) +
                     " rows cannot be put in an order of " + std::to_string(vertex_of_.size()) +
                     (beyond == vertex_of_.end() ? "" : " that asks for row " + std::to_string(*beyond)));
  }
}

void Features::read(Vertex row, float* to) const {
  if (!file_) {
    const std::uint64_t key = feature_key(seed_, row);
    for (std::uint32_t column = 0; column < columns_; ++column) {
      to[column] = uniform_number(key, column);
    }
  } else if (file_->element() == sizeof(float)) {
    std::memcpy(to, in_file(row), row_bytes());
  } else {
    for (std::uint32_t column = 0; column < columns_; ++column) {
      std::uint16_t half = 0;
      std::memcpy(&half, in_file(row) + column * sizeof(half), sizeof(half));
      to[column] = widened(half);
    }
  }
}

void Features::fill(Vertex rows, std::byte* to) const {
  if (!file_) {
    fill_features(seed_, rows, columns_, reinterpret_cast<float*>(to));
    return;
  }
  const std::uint64_t bytes = row_bytes();
#pragma omp parallel for schedule(static)
  for (Vertex row = 0; row < rows; ++row) {
    std::memcpy(to + row * bytes, in_file(row), bytes);
  }
}

std::uint64_t Features::count_wrong(const std::byte* found, std::span<const Vertex> rows) const {
  const std::uint64_t bytes = row_bytes();
  const std::uint64_t element = columns_ > 0 ? bytes / columns_ : 1;
  std::uint64_t wrong = 0;
#pragma omp parallel reduction(+ : wrong)
  {
    std::vector<float> expected(file_ ? 0 : columns_);
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::byte* const here = found + i * bytes;
      if (!file_) {
        read(rows[i], expected.data());
      }
      const auto* const right =
          file_ ? in_file(rows[i]) : reinterpret_cast<const std::byte*>(expected.data());
      if (std::memcmp(here, right, bytes) != 0) {
        for (std::uint64_t at = 0; at < bytes; at += element) {
          wrong += std::memcmp(here + at, right + at, element) != 0 ? 1 : 0;
        }
      }
    }
  }
  return wrong;
}

FeatureSpread spread_of(const Features& features, std::span<const Vertex> rows) {
  FeatureSpread spread;
  spread.means.resize(features.columns());
  const std::size_t looked_at = std::min(rows.size(), kMostLookedAt);
  std::vector<float> row(features.columns());
  double squares = 0;
  for (std::size_t i = 0; i < looked_at; ++i) {
    const Vertex v = rows[i * rows.size() / looked_at];
    features.read(v, row.data());
    for (std::uint32_t column = 0; column < features.columns(); ++column) {
      const auto value = static_cast<double>(row[column]);
      if (!std::isfinite(value)) {
        throw UsageError("the feature table " + features.file()->path() + ": column " +
                         std::to_string(column) + " of row " + std::to_string(features.number_in_file(v)) +
                         " is " + std::to_string(value) + ": nothing can be trained on such features");
      }
      spread.means[column] += value / static_cast<double>(looked_at);
      squares += value * value;
    }
  }
  spread.scale = std::sqrt(3 * squares / static_cast<double>(looked_at * features.columns()));
  if (!(spread.scale > 0)) {
    throw UsageError("the feature table " + features.file()->path() + ": the rows of " +
                     std::to_string(looked_at) +
                     " labelled vertices are all 0: nothing can be trained on them");
  }
  return spread;
}

void require_lockable(std::uint64_t bytes, const AvailableMemory& available) {
  const auto most = available.bytes();
  if (most && static_cast<double>(bytes) > kUsableShare * static_cast<double>(*most)) {
    throw SkipError("needs " + format_bytes(bytes) + " of page-locked host memory; " + format_bytes(*most) +
                    " are available");
  }
}

}  // namespace grainscope::gnn
