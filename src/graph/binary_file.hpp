#ifndef GRAINSCOPE_SRC_GRAPH_BINARY_FILE_HPP
#define GRAINSCOPE_SRC_GRAPH_BINARY_FILE_HPP

// Reading of files whose arrays begin at any byte: by system calls rather than through a mapping, so that a
// file that shrinks is an error and not a signal, and large destinations keep their huge pages.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "grainscope/core/units.hpp"
#include "parallel.hpp"

namespace grainscope::graph {

static_assert(std::endian::native == std::endian::little, "graph files are little-endian");

class BinaryFile {
 public:
  // Throws UsageError where there is no such file, or it is none that has bytes of its own; `what` says in
  // messages what it should be.
  explicit BinaryFile(std::string path, const std::string& what = "graph");
  ~BinaryFile();
  BinaryFile(const BinaryFile&) = delete;
  BinaryFile& operator=(const BinaryFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  // Throws EnvironmentError where the system cannot read, UsageError where the file ends before.
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  template <class T>
  [[nodiscard]] T value(std::uint64_t offset) const {
    T value{};
    read(offset, &value, sizeof(T));
    return value;
  }

  // The same by all threads, in pieces.
  void read_array(std::uint64_t offset, void* to, std::uint64_t bytes) const;

  // `count` elements of type T from `offset`, piece by piece and by all threads:
  // take(first, elements, n), elements [first, first + n).
  template <class T, class Take>
  void for_elements(std::uint64_t offset, std::uint64_t count, const Take& take) const {
    for_pieces(count, kMiB / sizeof(T), [&](std::uint64_t first, std::uint64_t last) {
      static thread_local std::vector<T> piece;
      piece.resize(kMiB / sizeof(T));
      read(offset + first * sizeof(T), piece.data(), (last - first) * sizeof(T));
      take(first, piece.data(), last - first);
    });
  }

  // Throws UsageError: "graph.sg: byte 17: what".
  [[noreturn]] void refuse(std::uint64_t byte, const std::string& what) const;

 private:
  std::string path_;
  int number_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace grainscope::graph

#endif
