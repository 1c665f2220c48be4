#ifndef GRAINSCOPE_GNN_FEATURE_STORE_HPP
#define GRAINSCOPE_GNN_FEATURE_STORE_HPP

// A feature table in memory, filled: where its rows live is a value, and kernels see one view of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/modes.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::cuda {
class ManagedBudget;
}
namespace grainscope::reach {
class SpanMemory;
}

namespace grainscope::gnn {

class FeatureTable;

struct StoreRequest {
  Store store = Store::mapped;
  std::uint32_t row_bytes = 128;  // even
  std::uint64_t span_bytes = 0;   // of the whole table, whatever part of it is where
  int gpu = 0;                    // that reads
  double hot_percent = 0;         // tiered: of the rows, on the GPU. multi_gpu: interleaved over `gpus`
  double replicated_percent = 0;  // multi_gpu: of the rows, in each GPU's own memory
  std::vector<int> gpus = {};     // multi_gpu: of the interleaved part, the reading one among them
};

// Which rows are where: of a table of all of `span_bytes`, in chunks on the host. Throws UsageError for rows
// that are no even number of bytes or do not fit, more than 100 percent, or no GPUs to interleave over.
[[nodiscard]] TableShape table_shape(const StoreRequest& request, std::uint64_t chunk_bytes);

// Bytes of the rows that are on the host, in the reading GPU's memory, and on each other GPU at most.
struct StoreBytes {
  std::uint64_t host = 0;
  std::uint64_t own = 0;
  std::uint64_t other = 0;
};
[[nodiscard]] StoreBytes store_bytes(const StoreRequest& request, std::uint64_t chunk_bytes);

class FeatureStore {
 public:
  virtual ~FeatureStore() = default;
  FeatureStore(const FeatureStore&) = delete;
  FeatureStore& operator=(const FeatureStore&) = delete;

  [[nodiscard]] const StoreRequest& request() const noexcept { return request_; }
  // As the reading GPU addresses it; of `pageable` and `pinned` as the host does.
  [[nodiscard]] const TableView& view() const noexcept { return view_; }
  [[nodiscard]] const TableShape& shape() const noexcept { return view_.shape; }
  // What its rows hold, where that is a file's; null: the patterns of its shape's tiers.
  [[nodiscard]] virtual const Features* features() const { return nullptr; }
  // Of a tiered or multi_gpu one: seconds of copying as many bytes from the table's page-locked memory as
  // GPUs have of it, one GPU after another; nothing where there is no such memory, or no such rows.
  [[nodiscard]] std::optional<double> fill_s() const noexcept { return fill_s_; }
  // Before a sample, untimed: pages of a managed table go back to the host, and that is proved. Else nothing.
  virtual void make_cold() {}
  // Of a managed table, after a sample: bytes that have left the host, where the system tells.
  [[nodiscard]] virtual std::optional<std::uint64_t> moved_bytes() const { return std::nullopt; }

 protected:
  explicit FeatureStore(StoreRequest request) : request_(std::move(request)) {}
  TableView view_;
  std::optional<double> fill_s_;

 private:
  StoreRequest request_;
};

// `host`: filled memory that outlives the store and that the GPU reads, large enough for the host's rows; of
// managed and device stores none. `budget`: of a managed one. Throws SkipError, with the numbers, where there
// is no room; UsageError as table_shape; in a build without CUDA always SkipError, but for `pageable`.
[[nodiscard]] std::unique_ptr<FeatureStore> make_feature_store(const StoreRequest& request,
                                                               const reach::SpanMemory* host,
                                                               cuda::ManagedBudget* budget);

// A `pageable` store of its own, on the node that the calling thread is bound to: no GPU is needed. Throws
// EnvironmentError where there is not so much memory.
[[nodiscard]] std::unique_ptr<FeatureStore> make_pageable_store(const StoreRequest& request);

// A `pageable` store that is a mapped file, its rows as they stand there.
[[nodiscard]] std::unique_ptr<FeatureStore> make_file_store(std::shared_ptr<const NpyFile> file);

// A pinned, mapped, tiered or device store over a page-locked table that outlives it and holds `features`; of
// a tiered one the first rows are copied to the GPU, of a device one all. Throws as make_feature_store, and
// UsageError for other stores.
[[nodiscard]] std::unique_ptr<FeatureStore> make_table_store(const StoreRequest& request,
                                                             const FeatureTable& table,
                                                             const Features& features);

}  // namespace grainscope::gnn

#endif
