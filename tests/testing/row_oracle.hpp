#ifndef GRAINSCOPE_TESTS_TESTING_ROW_ORACLE_HPP
#define GRAINSCOPE_TESTS_TESTING_ROW_ORACLE_HPP

// The oracle of what a GPU counts and adds up in a list of rows: serial, on the host.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "grainscope/core/pattern.hpp"

namespace grainscope::reach {

[[nodiscard]] inline std::uint64_t distinct_rows(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return static_cast<std::uint64_t>(std::unique(rows.begin(), rows.end()) - rows.begin());
}

// Sum, mod 2⁶⁴, of the pattern's 32-bit words in `rows`, word 0 being the first of row 0.
[[nodiscard]] inline std::uint64_t sum_of_rows(std::span<const std::uint64_t> rows, std::uint64_t row_bytes,
                                               std::uint32_t pattern_seed) {
  const std::uint64_t words = row_bytes / sizeof(std::uint32_t);
  std::uint64_t sum = 0;
  for (const std::uint64_t row : rows) {
    for (std::uint64_t word = 0; word < words; ++word) {
      sum += pattern_word(row * words + word, pattern_seed);
    }
  }
  return sum;
}

}  // namespace grainscope::reach

#endif
