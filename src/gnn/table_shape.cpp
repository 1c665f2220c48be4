// Which rows of a table are where, and what memory that takes.

#include <algorithm>
#include <cmath>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/feature_store.hpp"
#include "grainscope/gnn/row_lists.hpp"

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

}  // namespace grainscope::gnn
