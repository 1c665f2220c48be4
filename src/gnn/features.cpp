// What feature tables hold: a closed form, or the rows of a NumPy file.

#include "grainscope/gnn/features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/gnn/graphsage.hpp"
#include "npy.hpp"

namespace grainscope::gnn {
namespace {

using graph::BinaryFile;

constexpr NpyKind kTable{"feature table", "float32 ('<f4') and float16 ('<f2') are read"};
constexpr std::uint64_t kPadding = 16;  // what headers are padded to, at least

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  kTable.refuse(path, what);
}

std::uint32_t element_of(const std::string& path, const std::string& descr) {
  if (descr != "<f4" && descr != "<f2") {
    refuse(path, "its elements are '" + shown(descr) +
                     "'; float32 ('<f4') and float16 ('<f2') are read: save it with array.astype('<f4')");
  }
  return descr == "<f4" ? sizeof(float) : sizeof(std::uint16_t);
}

// Rows and columns that can be counted, whose bytes fit into 64 bits.
void require_table(const std::string& path, const NpyHeader& header, std::uint32_t element) {
  if (header.shape.size() != 2) {
    refuse(path, "an array of shape " + text_of_shape(header.shape) +
                     "; a table has two dimensions, rows and columns");
  }
  if (header.fortran_order) {
    refuse(path,
           "its array is in Fortran order, column by column: save it with numpy.ascontiguousarray(array)");
  }
  const std::uint64_t rows = header.shape[0];
  const std::uint64_t columns = header.shape[1];
  if (rows == 0 || columns == 0) {
    refuse(path, "an array of shape " + text_of_shape(header.shape) + " has nothing to gather");
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
  const NpyHeader header = read_npy_header(file, kTable);
  element_ = element_of(path, header.descr);
  require_table(path, header, element_);
  rows_ = static_cast<std::uint32_t>(header.shape[0]);
  columns_ = static_cast<std::uint32_t>(header.shape[1]);
  const std::uint64_t first = header.array_at;
  if (first % kPadding != 0) {
    refuse(path, "its array begins at byte " + std::to_string(first) +
                     ", which is no multiple of 16 as NumPy makes it: save it again");
  }
  require_npy_end(file, kTable, header, bytes());
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
    throw InputError("the feature table " + file_->path() + " of " + std::to_string(file_->rows()) +
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
        throw InputError("the feature table " + features.file()->path() + ": column " +
                         std::to_string(column) + " of row " + std::to_string(features.number_in_file(v)) +
                         " is " + std::to_string(value) + ": nothing can be trained on such features");
      }
      spread.means[column] += value / static_cast<double>(looked_at);
      squares += value * value;
    }
  }
  spread.scale = std::sqrt(3 * squares / static_cast<double>(looked_at * features.columns()));
  if (!(spread.scale > 0)) {
    throw InputError("the feature table " + features.file()->path() + ": the rows of " +
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
