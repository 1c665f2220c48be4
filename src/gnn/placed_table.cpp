#include "placed_table.hpp"

#include <cuda_runtime_api.h>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "pipelines.hpp"
#include "timed_fill.hpp"

namespace grainscope::gnn {
namespace {

class PinnedTable final : public FeatureTable {
 public:
  PinnedTable(graph::Vertex vertices, const Features& features)
      : FeatureTable(vertices, features),
        rows_(whole_lines(std::uint64_t{vertices} * features.row_bytes()), cuda::PinnedBuffer::Kind::cached) {
    features.fill(vertices, bytes());
  }
  [[nodiscard]] std::byte* bytes() const override { return static_cast<std::byte*>(rows_.data()); }
  [[nodiscard]] bool page_locked() const override { return true; }

 private:
  cuda::PinnedBuffer rows_;
};

const std::byte* as_the_gpu_reads(const FeatureTable& table, Store store) {
  if (store == Store::pageable || store == Store::pinned) {
    return table.bytes();
  }
  if (!table.page_locked()) {
    throw UsageError("a GPU is to read a feature table that is not page-locked");
  }
  void* mapped = nullptr;
  cuda::check(cudaHostGetDevicePointer(&mapped, table.bytes(), 0), "map a feature table to the GPU");
  return static_cast<const std::byte*>(mapped);
}

}  // namespace

PlacedTable::PlacedTable(const FeatureTable& table, Store store, double hot_percent, int gpu) {
  TableShape& shape = view_.shape;
  shape.row_bytes = static_cast<std::uint32_t>(table.row_bytes());
  shape.rows = table.vertices();
  shape.local_rows = hot_rows(shape.rows, store, hot_percent);
  shape.by_chunk_rows = Divider(shape.rows);
  shape.chunk_bytes = shape.rows * table.row_bytes();
  if (shape.local_rows > 0) {
    const std::uint64_t bytes = shape.local_rows * table.row_bytes();
    hot_ = std::make_unique<cuda::DeviceBuffer>(gpu, whole_lines(bytes));
    const std::byte* const rows = table.bytes();
    fill_s_ = timed_fill_s(hot_->data(), bytes, {&rows, 1}, bytes);
    view_.local = static_cast<const std::byte*>(hot_->data());
  }
  if (shape.host_rows() > 0) {
    // The host keeps all rows, the GPU a copy of the first: what a row's place counts from is behind them.
    shape.host_begin = shape.local_rows * table.row_bytes();
    view_.chunks[0] = as_the_gpu_reads(table, store) + shape.host_begin;
  }
}

std::unique_ptr<FeatureTable> make_pinned_table(graph::Vertex vertices, const Features& features) {
  require_lockable(std::uint64_t{vertices} * features.row_bytes());
  return std::make_unique<PinnedTable>(vertices, features);
}

}  // namespace grainscope::gnn
