#ifndef GRAINSCOPE_SRC_GNN_ROWS_ON_GPU_HPP
#define GRAINSCOPE_SRC_GNN_ROWS_ON_GPU_HPP

// What a table's rows hold, written and checked by a GPU.

#include <cstdint>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

// Fills `rows` rows from the pattern of `seed`: row k holds what row (k × step + first) of the pattern's rows
// holds. `memory` is any that the current GPU can write. Waits.
void fill_rows(std::byte* memory, std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t seed,
               std::uint32_t first, std::uint32_t step, const cuda::Stream& stream);

// Finds the first wrong row of gathers' outputs, all of each output looked at.
class RowCheck {
 public:
  explicit RowCheck(int gpu);
  // Enqueues: whether `out` (device, rows one after another) holds the table's rows `rows` (u32[count],
  // device).
  void enqueue(const std::byte* out, const std::uint32_t* rows, std::uint64_t count, const TableShape& table,
               const cuda::Stream& stream);
  // Waits. Throws FailedError, naming the row of the output, where any output was wrong, or none was checked.
  void require_right(const cuda::Stream& stream) const;
  [[nodiscard]] std::uint64_t outputs() const noexcept { return outputs_; }

 private:
  cuda::DeviceBuffer first_wrong_;  // u64: the lowest position of a wrong row
  std::uint64_t outputs_ = 0;
};

}  // namespace grainscope::gnn

#endif
