#include "grainscope/core/error.hpp"
#include "grainscope/gnn/bag.hpp"

namespace grainscope::gnn {

std::vector<std::uint32_t> draw_bags(const BagRequest& request, Indices indices, std::uint32_t store_rows,
                                     std::uint64_t seed, int list) {
  if (request.lookups() == 0 || request.pooling > kMostPooled || store_rows < request.tables) {
    throw UsageError("bags need tables, bags and 1 to " + std::to_string(kMostPooled) +
                     " rows of each, and a row of every table at least; not " +
                     std::to_string(request.tables) + " tables of " + std::to_string(store_rows) + " rows, " +
                     std::to_string(request.bags) + " bags and " + std::to_string(request.pooling) + " rows");
  }
  std::vector<std::uint32_t> rows =
      draw_rows(indices, request.lookups(), store_rows / request.tables, seed, list);
#pragma omp parallel for schedule(static)
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    const auto table = static_cast<std::uint32_t>(i / request.pooling % request.tables);
    rows[i] = rows[i] * request.tables + table;
  }
  return rows;
}

}  // namespace grainscope::gnn
