#include "grainscope/reach/row_list.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"

namespace grainscope::reach {

void require_possible(const GatherRequest& request) {
  const std::uint64_t row = request.row_bytes;
  if (!std::has_single_bit(row) || row < kSmallestRow || row > kLargestRow || request.rows == 0 ||
      request.span_bytes == 0 || request.span_bytes % row != 0) {
    throw UsageError("a gather reads at least one row of 32 to 4096 bytes, a power of two, from a span of " +
                     std::string("whole rows; not ") + std::to_string(request.rows) + " rows of " +
                     std::to_string(row) + " bytes from " + std::to_string(request.span_bytes));
  }
}

std::vector<std::uint64_t> row_list(const GatherRequest& request, int list) {
  std::vector<std::uint64_t> rows(request.rows);
  for (std::uint64_t i = 0; i < request.rows; ++i) {
    rows[i] = random_row(i, request.rows_in_span(), list_seed(request, list));
  }
  if (request.sorted) {
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

std::uint64_t distinct_rows(std::vector<std::uint64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return static_cast<std::uint64_t>(std::unique(rows.begin(), rows.end()) - rows.begin());
}

std::uint64_t sum_of_rows(std::span<const std::uint64_t> rows, std::uint64_t row_bytes,
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
