#ifndef GRAINSCOPE_SRC_GRAPH_NEW_FILE_HPP
#define GRAINSCOPE_SRC_GRAPH_NEW_FILE_HPP

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "grainscope/core/host_array.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::graph {

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
