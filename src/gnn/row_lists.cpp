#include "grainscope/gnn/row_lists.hpp"

#include <algorithm>
#include <cmath>

#include "grainscope/core/error.hpp"
#include "grainscope/reach/row_list.hpp"

namespace grainscope::gnn {
namespace {

// Of lists whose seeds differ nothing is shared.
constexpr std::uint64_t kListsOfSeed = 64;

}  // namespace

std::uint32_t rows_that_fit(std::uint64_t bytes, std::uint64_t row_bytes, std::uint64_t chunk_bytes) {
  if (row_bytes == 0 || row_bytes > chunk_bytes) {
    throw UsageError("a row has 1 to " + std::to_string(chunk_bytes) + " bytes here, not " +
                     std::to_string(row_bytes));
  }
  const std::uint64_t rows =
      bytes / chunk_bytes * (chunk_bytes / row_bytes) + bytes % chunk_bytes / row_bytes;
  if (rows > UINT32_MAX) {
    throw UsageError("a table has 2^32 - 1 rows at most, not " + std::to_string(rows));
  }
  return static_cast<std::uint32_t>(rows);
}

std::uint32_t zipf_row(std::uint64_t position, std::uint32_t table_rows, std::uint64_t seed) {
  constexpr double kDraws = 9007199254740992.0;  // 2^53: what a double tells apart in [0, 1)
  const double u = static_cast<double>(reach::random_row(position, std::uint64_t{1} << 53, seed)) / kDraws;
  const double row = std::exp(u * std::log1p(static_cast<double>(table_rows))) - 1;
  return std::min(static_cast<std::uint32_t>(std::max(0.0, row)), table_rows - 1);
}

std::vector<std::uint32_t> draw_rows(Indices indices, std::uint64_t count, std::uint32_t table_rows,
                                     std::uint64_t seed, int list) {
  if (table_rows == 0) {
    throw UsageError("no rows can be drawn from a table that has none");
  }
  if (indices == Indices::sampled) {
    throw UsageError("sampled rows come from a trace; they cannot be drawn");
  }
  const std::uint64_t list_seed = seed * kListsOfSeed + static_cast<std::uint64_t>(list);
  std::vector<std::uint32_t> rows(count);
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < count; ++i) {
    rows[i] = indices == Indices::zipf
                  ? zipf_row(i, table_rows, list_seed)
                  : static_cast<std::uint32_t>(reach::random_row(i, table_rows, list_seed));
  }
  return rows;
}

void require_in_table(std::span<const std::uint32_t> rows, std::uint32_t table_rows) {
  const auto beyond =
      std::find_if(rows.begin(), rows.end(), [&](std::uint32_t row) { return row >= table_rows; });
  if (beyond != rows.end()) {
    throw UsageError("index " + std::to_string(beyond - rows.begin()) + " of a gather asks for row " +
                     std::to_string(*beyond) + " of a table of " + std::to_string(table_rows) + " rows");
  }
}

UniqueRows unique_rows(std::span<const std::uint32_t> rows, const TableShape& table) {
  constexpr std::uint32_t kBits = 64;
  std::vector<std::uint64_t> seen(table.rows / kBits + 1);
  UniqueRows unique;
  for (const std::uint32_t row : rows) {
    const std::uint64_t bit = std::uint64_t{1} << (row % kBits);
    const bool first = (seen[row / kBits] & bit) == 0;
    seen[row / kBits] |= bit;
    unique.all += first ? 1 : 0;
    unique.on_host += first && table.on_host(row) ? 1 : 0;
  }
  return unique;
}

}  // namespace grainscope::gnn
