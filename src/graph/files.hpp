#ifndef GRAINSCOPE_SRC_GRAPH_FILES_HPP
#define GRAINSCOPE_SRC_GRAPH_FILES_HPP

// Files that arrays are read from and written to: by system calls rather than through a mapping, so that a
// file that shrinks is an error and not a signal, and large destinations keep their huge pages.

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/graph/io.hpp"
#include "parallel.hpp"

namespace grainscope::graph {

// "folder/NAME.bel" of itself and of its three files.
[[nodiscard]] std::string bel_stem(const std::string& path);

// Reading of files whose arrays begin at any byte: by system calls rather than through a mapping, so that a
// file that shrinks is an error and not a signal, and large destinations keep their huge pages.

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

// A file that comes into being whole or not at all: it has no name while it is written (where a file system
// has no such files, another one beside its own), so that it goes with this object and with a process that is
// killed; put_in_place() gives it its own. All throw EnvironmentError, naming the file and
// the reason, where the system refuses.
class NewFile {
 public:
  // `expected_bytes` are asked for at once, so that a full disk is known before gigabytes are written.
  NewFile(std::string path, std::uint64_t expected_bytes);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* from, std::uint64_t bytes);
  template <class T>
  void write_value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(&value, sizeof(T));
  }
  template <class T>
  void write_array(const HostArray<T>& array) {
    write(array.data(), array.bytes());
  }
  // `count` elements, made piece by piece: element(i).
  template <class Element>
  void write_elements(std::uint64_t count, const Element& element) {
    using T = std::invoke_result_t<Element, std::uint64_t>;
    std::vector<T> piece(kMiB / sizeof(T));
    for (std::uint64_t first = 0; first < count; first += piece.size()) {
      const std::uint64_t n = count - first < piece.size() ? count - first : piece.size();
      for (std::uint64_t i = 0; i < n; ++i) {
        piece[i] = element(first + i);
      }
      write(piece.data(), n * sizeof(T));
    }
  }

  // Makes sure that the disk has it all, under a name beside its own. Nothing can be written afterwards.
  void finish();
  // After finish(): under its own name, in place of what was there.
  void put_in_place();

 private:
  template <class Take>
  void take_name(const Take& take);
  void discard();
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string temporary_;  // beside its own; empty: it has no name yet
  int number_ = -1;
};

}  // namespace grainscope::graph

#endif
