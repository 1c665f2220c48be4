#ifndef GRAINSCOPE_SRC_GNN_ROWS_ON_GPU_HPP
#define GRAINSCOPE_SRC_GNN_ROWS_ON_GPU_HPP

// What a table's rows hold, written and checked by a GPU.

#include <cstdint>

#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/gnn/table.hpp"

namespace grainscope::gnn {

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

}  // namespace grainscope::gnn

#endif
