#ifndef GRAINSCOPE_SRC_GNN_PLACED_TABLE_HPP
#define GRAINSCOPE_SRC_GNN_PLACED_TABLE_HPP

// A feature table of host memory as one GPU reads it: over the link, all or its first rows copied to the GPU.

#include <memory>

#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/modes.hpp"
#include "grainscope/gnn/table.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

class PlacedTable {
 public:
  // On `gpu`, which is current. Throws UsageError where the GPU is to read memory that is not page-locked,
  // SkipError where it has no room.
  PlacedTable(const FeatureTable& table, Store store, double hot_percent, int gpu);
  // Of pageable and pinned tables as the host addresses it.
  [[nodiscard]] const TableView& view() const { return view_; }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return hot_ != nullptr ? hot_->bytes() : 0; }
  // Seconds of copying its rows to the GPU; 0 without any.
  [[nodiscard]] double fill_s() const { return fill_s_; }

 private:
  TableView view_;
  std::unique_ptr<cuda::DeviceBuffer> hot_;
  double fill_s_ = 0;
};

}  // namespace grainscope::gnn

#endif
