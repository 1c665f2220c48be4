#ifndef GRAINSCOPE_GNN_NPY_FILE_HPP
#define GRAINSCOPE_GNN_NPY_FILE_HPP

// A feature table of one's own: a NumPy file (.npy), mapped into the address space and never read as a whole.
// Source: NumPy Enhancement Proposal 1, format versions 1.0, 2.0 and 3.0.

#include <cstdint>
#include <string>

#include "grainscope/core/host_array.hpp"

namespace grainscope::gnn {

// A row that no gather loads: a chunk of host memory has no more, and no row crosses chunks.
inline constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 30;

class NpyFile {
 public:
  // Reads the header and maps the array. Throws UsageError, in a sentence with the path, unless the file is
  // an array of float32 or float16 (little-endian), of two dimensions, none of them 0, row by row (C order),
  // with rows of at most kMostRowBytes and fewer than 2³² − 1 of them, and ends where the array ends;
  // EnvironmentError where it cannot be read or mapped. Of a malformed header no more is believed than the
  // file's own size bears out.
  explicit NpyFile(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Its name without folder and ending.
  [[nodiscard]] std::string stem() const;
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::uint32_t element() const noexcept { return element_; }  // bytes: 4 or 2
  [[nodiscard]] std::uint32_t row_bytes() const noexcept { return columns_ * element_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return std::uint64_t{rows_} * row_bytes(); }
  // Row after row, host, read-only. A file that is cut while it is mapped ends the process (SIGBUS).
  [[nodiscard]] const std::byte* data() const noexcept { return array_.data(); }
  [[nodiscard]] const std::byte* row(std::uint64_t row) const noexcept { return data() + row * row_bytes(); }

 private:
  std::string path_;
  std::uint32_t element_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t columns_ = 0;
  HostBytes array_;
};

// Throws UsageError, in a sentence with both numbers, unless the file has a row for every vertex of a graph.
void require_row_for_each(const NpyFile& file, std::uint64_t vertices, const std::string& graph);

}  // namespace grainscope::gnn

#endif
