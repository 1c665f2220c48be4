#include "grainscope/gnn/npy_file.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <limits>

#include "../graph/files.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "npy_header.hpp"

namespace grainscope::gnn {
namespace {

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

}  // namespace grainscope::gnn
