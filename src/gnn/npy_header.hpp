#ifndef GRAINSCOPE_SRC_GNN_NPY_HEADER_HPP
#define GRAINSCOPE_SRC_GNN_NPY_HEADER_HPP

// What the header of a NumPy file says: a Python dictionary of three entries.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace grainscope::gnn {

struct NpyHeader {
  std::string descr;  // "<f4"; of records "["
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// A word of a header for a message: its beginning, other letters than ASCII's as '?'.
[[nodiscard]] std::string shown(std::string_view word);

// Ends by an exception: at which character of the dictionary, and what is wrong there.
using RefuseNpy = std::function<void(std::size_t at, const std::string& what)>;

// `text`: the dictionary with what pads it. Each of the three keys once, in any order, nothing else.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const RefuseNpy& refuse);

}  // namespace grainscope::gnn

#endif
