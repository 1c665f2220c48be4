#ifndef GRAINSCOPE_TESTS_FUZZ_SEEDS_HPP
#define GRAINSCOPE_TESTS_FUZZ_SEEDS_HPP

#include <string>
#include <utility>
#include <vector>

namespace grainscope::test {

// A graph as it lies on a disk, one file or EMOGI's three; or a feature table.
struct Specimen {
  std::string read_as;                                     // what the reader is given
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  bool text = false;
};

// Good files of every format, small, and one text that is long enough to be cut.
[[nodiscard]] std::vector<Specimen> good_specimens();

}  // namespace grainscope::test

#endif
