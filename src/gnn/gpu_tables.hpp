#ifndef GRAINSCOPE_SRC_GNN_GPU_TABLES_HPP
#define GRAINSCOPE_SRC_GNN_GPU_TABLES_HPP

// Feature tables that a GPU reads: one of host memory as a GPU sees it, over the link, all or its first
// rows copied to the GPU; and what rows hold, written and checked by a GPU.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/table.hpp"
#include "grainscope/gnn/training.hpp"

namespace grainscope::gnn {

class PlacedTable {
 public:
  // On `gpu`, which is current. Rows of a store multi_gpu are interleaved over `gpus`, which reach each
  // other; where `parts` (one a GPU) says where they lie already, in memory that outlives it, they serve this
  // GPU too. Throws UsageError where the GPU is to read memory that is not page-locked, SkipError where there
  // is no room.
  PlacedTable(const FeatureTable& table, Store store, double hot_percent, int gpu,
              const std::vector<int>& gpus = {}, const std::byte* const* parts = nullptr);
  // Of pageable and pinned tables as the host addresses it.
  [[nodiscard]] const TableView& view() const { return view_; }
  [[nodiscard]] std::uint64_t gpu_bytes() const { return gpu_bytes_; }
  // Seconds of copying its rows to the GPU; 0 without any.
  [[nodiscard]] double fill_s() const { return fill_s_; }

 private:
  void place_local(const FeatureTable& table, int gpu);
  void place_part(const FeatureTable& table, std::uint32_t part, int gpu);

  TableView view_;
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> memory_;
  std::uint64_t gpu_bytes_ = 0;
  double fill_s_ = 0;
};

// Copies the rows of part number `part` of a shape's interleaved ones from the host to `to`, memory of `gpu`.
// Seconds of one copy of as many bytes in a piece; the rows themselves stand apart on the host.
[[nodiscard]] double fill_part(const FeatureTable& table, const TableShape& shape, std::uint32_t part,
                               int gpu, void* to);

// Fills `rows` rows from the pattern of `seed`: row k holds what row (k × step + first) of the pattern's rows
// holds. `memory` is any that the current GPU can write. Waits.
void fill_rows(std::byte* memory, std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t seed,
               std::uint32_t first, std::uint32_t step, const cuda::Stream& stream);

// Enqueues: whether `out` (device, rows one after another) holds the table's rows `rows` (u32[count],
// device). The position of the first that is wrong, if it is lower, goes to `first_wrong` (device).
void check_rows(const std::byte* out, const std::uint32_t* rows, std::uint64_t count, const TableShape& table,
                unsigned long long* first_wrong, const cuda::Stream& stream);
// Waits for all such checks. Throws FailedError, naming the row of the output, where any output was wrong, or
// none was checked.
void require_rows_right(const cuda::GatherRig& rig, const cuda::Stream& stream);

// Of rows that come from a file, and so go back to the host: no closed form tells a GPU what they should be.
// Elements of `out` (device, rows one after another) that are not those of `rows` (host). Waits for the
// stream, and copies piece by piece.
[[nodiscard]] std::uint64_t count_unlike_file(const Features& features, const std::byte* out,
                                              std::span<const graph::Vertex> rows,
                                              const cuda::Stream& stream);

}  // namespace grainscope::gnn

#endif
