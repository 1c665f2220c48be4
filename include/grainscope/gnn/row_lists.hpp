#ifndef GRAINSCOPE_GNN_ROW_LISTS_HPP
#define GRAINSCOPE_GNN_ROW_LISTS_HPP

// Which rows gathers ask for: drawn, or from a trace of sampled mini-batches.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

enum class Indices {
  uniform,  // every row alike; repeats are kept
  zipf,     // row r about as often as 1 / (r + 1): low numbers are the hot rows; repeats are kept
  sampled,  // of mini-batches that neighbour sampling made
};
// As it stands in case names.
[[nodiscard]] constexpr const char* name(Indices indices) {
  switch (indices) {
    case Indices::uniform:
      return "uniform";
    case Indices::zipf:
      return "zipf";
    case Indices::sampled:
      return "sampled";
  }
  return "?";
}

// Row ⌊(table_rows + 1)^u⌋ − 1 of u drawn uniformly from [0, 1): its logarithm is uniform, so row r comes
// with probability ln((r + 2) / (r + 1)) / ln(table_rows + 1). Zipf's law with exponent 1, smoothed.
[[nodiscard]] std::uint32_t zipf_row(std::uint64_t position, std::uint32_t table_rows, std::uint64_t seed);

// List number `list` of `count` rows of a table, of `seed`; all threads, and the same however many. `sampled`
// cannot be drawn: UsageError.
[[nodiscard]] std::vector<std::uint32_t> draw_rows(Indices indices, std::uint64_t count,
                                                   std::uint32_t table_rows, std::uint64_t seed, int list);

// Throws UsageError, naming the position and the row, where one is not in the table.
void require_in_table(std::span<const std::uint32_t> rows, std::uint32_t table_rows);

// Different rows of a list, all in the table, and those of them that lie on the host.
struct UniqueRows {
  std::uint64_t all = 0;
  std::uint64_t on_host = 0;
};
[[nodiscard]] UniqueRows unique_rows(std::span<const std::uint32_t> rows, const TableShape& table);

}  // namespace grainscope::gnn

#endif
