#ifndef GRAINSCOPE_SRC_GNN_NPY_HPP
#define GRAINSCOPE_SRC_GNN_NPY_HPP

// The header of a NumPy file, of which no more is believed than the file's own size bears out.
// Source: NumPy Enhancement Proposal 1, versions 1.0, 2.0 and 3.0.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../graph/files.hpp"

namespace grainscope::gnn {

// What a file should be, for messages.
struct NpyKind {
  const char* what;   // "feature table"
  const char* reads;  // "float32 ('<f4') and float16 ('<f2') are read"

  // Throws UsageError: "the feature table PATH: why".
  [[noreturn]] void refuse(const std::string& path, const std::string& why) const;
};

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t array_at = 0;  // the array's first byte
};

// Throws UsageError, with the place, for anything but a NumPy header.
[[nodiscard]] NpyHeader read_npy_header(const graph::BinaryFile& file, const NpyKind& kind);

// Throws UsageError unless the file ends where an array of so many bytes does.
void require_npy_end(const graph::BinaryFile& file, const NpyKind& kind, const NpyHeader& header,
                     std::uint64_t bytes);

// A word of a header for a message: its beginning, other letters than ASCII's as '?'.
[[nodiscard]] std::string shown(std::string_view word);

// "(3, 4)"
[[nodiscard]] std::string text_of_shape(const std::vector<std::uint64_t>& shape);

}  // namespace grainscope::gnn

#endif
