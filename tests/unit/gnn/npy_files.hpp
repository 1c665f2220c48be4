#ifndef GRAINSCOPE_TESTS_NPY_FILES_HPP
#define GRAINSCOPE_TESTS_NPY_FILES_HPP

// NumPy files as tests write them.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace grainscope::test {

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// Magic, version, length and dictionary, padded to a multiple of 64 bytes as NumPy does.
inline std::string npy_header(const std::string& dictionary, char version = 1) {
  std::string head = std::string("\x93NUMPY") + version + '\0';
  const std::size_t before = head.size() + (version == 1 ? 2 : 4);
  std::string text = dictionary;
  while ((before + text.size() + 1) % 64 != 0) {
    text += ' ';
  }
  text += '\n';
  head += version == 1 ? bytes_of(static_cast<std::uint16_t>(text.size()))
                       : bytes_of(static_cast<std::uint32_t>(text.size()));
  return head + text;
}

inline std::string npy_dictionary(const std::string& descr, const std::string& shape,
                                  const std::string& fortran_order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
}

// Rows of `columns` elements of `element` bytes; element i of the array has the value i · 2^-10 (float32), or
// the bits i (float16).
inline std::string npy_table(std::uint32_t rows, std::uint32_t columns, std::uint32_t element = 4) {
  std::string file = npy_header(npy_dictionary(
      element == 4 ? "<f4" : "<f2", "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")"));
  for (std::uint32_t i = 0; i < rows * columns; ++i) {
    file +=
        element == 4 ? bytes_of(static_cast<float>(i) * 0x1p-10F) : bytes_of(static_cast<std::uint16_t>(i));
  }
  return file;
}

}  // namespace grainscope::test

#endif
