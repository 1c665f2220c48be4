// What may be asked of gathers without a GPU: which rows of a table are where, what memory that takes,
// which rows are drawn, and what cannot be on any machine.

#include "grainscope/gnn/gather.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "gather_parts.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/reach/row_gather.hpp"

namespace grainscope::gnn {
namespace {

std::uint32_t share_of_rows(std::uint32_t rows, double percent) {
  return static_cast<std::uint32_t>(std::llround(static_cast<double>(rows) * percent / 100));
}

void require_possible(const StoreRequest& request) {
  const double percent = request.hot_percent + request.replicated_percent;
  if (request.row_bytes == 0 || request.row_bytes % 2 != 0) {
    throw UsageError("a row has an even number of bytes, not " + std::to_string(request.row_bytes));
  }
  // Turned round, so that what is no number is refused too.
  if (!(request.hot_percent >= 0 && request.replicated_percent >= 0 && percent <= 100)) {
    throw UsageError("0 to 100 percent of a table's rows can be on GPUs, not " + std::to_string(percent));
  }
  if (request.store == Store::multi_gpu && (request.gpus.empty() || request.gpus.size() > kMostGpus)) {
    throw UsageError("rows are interleaved over 1 to " + std::to_string(kMostGpus) + " GPUs, not " +
                     std::to_string(request.gpus.size()));
  }
}

}  // namespace

TableShape table_shape(const StoreRequest& request, std::uint64_t chunk_bytes) {
  require_possible(request);
  TableShape shape;
  shape.row_bytes = request.row_bytes;
  shape.rows = rows_that_fit(request.span_bytes, request.row_bytes, chunk_bytes);
  shape.chunk_bytes = chunk_bytes;
  shape.by_chunk_rows = Divider(
      static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_bytes / request.row_bytes, UINT32_MAX)));
  switch (request.store) {
    case Store::device:
    case Store::managed:
      shape.local_rows = shape.rows;
      break;
    case Store::tiered:
      shape.local_rows = share_of_rows(shape.rows, request.hot_percent);
      break;
    case Store::multi_gpu:
      shape.local_rows = share_of_rows(shape.rows, request.replicated_percent);
      shape.spread_rows =
          std::min(share_of_rows(shape.rows, request.hot_percent), shape.rows - shape.local_rows);
      shape.by_gpus = Divider(static_cast<std::uint32_t>(request.gpus.size()));
      break;
    default:
      break;
  }
  return shape;
}

StoreBytes store_bytes(const StoreRequest& request, std::uint64_t chunk_bytes) {
  const TableShape shape = table_shape(request, chunk_bytes);
  const auto bytes = [&](std::uint32_t rows) { return std::uint64_t{rows} * shape.row_bytes; };
  StoreBytes result;
  if (shape.host_rows() > 0) {
    result.host = shape.contents(shape.rows - 1).first_byte + shape.row_bytes;
  }
  result.own = request.store == Store::managed ? 0 : bytes(shape.local_rows);
  const std::uint64_t part = bytes(shape.spread_rows_of(0));
  const bool reads_own =
      std::find(request.gpus.begin(), request.gpus.end(), request.gpu) != request.gpus.end();
  result.own += reads_own ? part : 0;
  result.other = request.gpus.size() > (reads_own ? 1U : 0U) ? part : 0;
  return result;
}

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

Share share_of_gpu(std::uint64_t rows, std::size_t gpu, std::size_t gpus) {
  constexpr std::uint64_t kWholeLines = kLineBytes / 2;  // rows of two bytes at least
  const auto begin = [&](std::size_t of) {
    return std::min(rows, ((rows * of / gpus) + kWholeLines - 1) / kWholeLines * kWholeLines);
  };
  return {begin(gpu), begin(gpu + 1)};
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

void require_possible(const FeatureStore& store, const RowLists& lists, const GatherRequest& request) {
  const TableShape& table = store.shape();
  if (!can_read(request.mode, store.request().store)) {
    throw UsageError(std::string(name(request.mode)) + " cannot read rows that are " +
                     name(store.request().store));
  }
  if (is_kernel(request.mode) && !may_load(request.mode, table.row_bytes, 2, request.width) &&
      !may_load(request.mode, table.row_bytes, request.width, request.width)) {
    throw UsageError(std::string(name(request.mode)) + " cannot load " + std::to_string(request.width) +
                     " bytes at once from rows of " + std::to_string(table.row_bytes));
  }
  if (!request.neighbours.empty()) {
    const std::set<int> others(request.neighbours.begin(), request.neighbours.end());
    if (!is_kernel(request.mode) || store.request().store != Store::mapped) {
      throw UsageError("neighbours gather by kernels from a table that is mapped; not by " +
                       std::string(name(request.mode)) + " from one that is " + name(store.request().store));
    }
    if (others.size() != request.neighbours.size() || others.contains(store.request().gpu)) {
      throw UsageError("the neighbours of a GPU are others, each once");
    }
  }
  if (lists.empty() || lists.front().empty()) {
    throw UsageError("a gather needs rows to ask for");
  }
  for (const std::vector<std::uint32_t>& list : lists) {
    if (list.size() != lists.front().size()) {
      throw UsageError("the samples of a gather ask for equally many rows; not for " +
                       std::to_string(lists.front().size()) + " and " + std::to_string(list.size()));
    }
    require_in_table(list, table.rows);
  }
}

std::unique_ptr<Operation> make_gather(FeatureStore& store, RowLists lists, const GatherRequest& request) {
  require_possible(store, lists, request);
  return request.mode == Mode::cpu_gather ? make_host_gather(store, std::move(lists), request)
                                          : make_gpu_gather(store, std::move(lists), request);
}

std::uint64_t gather_bytes(Mode mode, std::uint64_t rows, std::uint64_t row_bytes, std::size_t lists) {
  constexpr std::uint64_t kEvictor = 256 * kMiB;
  // A sort has three lists, and two more that it turns to and fro.
  const std::uint64_t own_lists = lists + (sorts(mode) ? 5 : 0);
  return rows * (row_bytes + own_lists * sizeof(std::uint32_t)) + kEvictor;
}

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
