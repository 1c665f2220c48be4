#ifndef GRAINSCOPE_SRC_GNN_BAG_KERNELS_HPP
#define GRAINSCOPE_SRC_GNN_BAG_KERNELS_HPP

#include <cuda_runtime_api.h>

#include <functional>

#include "grainscope/gnn/bag.hpp"

namespace grainscope::gnn {

// What one launch pools: `outputs` bags of `pooling` rows, behind one another in `rows` (device).
struct BagLists {
  const std::uint32_t* rows = nullptr;
  std::uint64_t outputs = 0;
  std::uint32_t pooling = 1;
  float* out = nullptr;  // f32[outputs][row_bytes / 4], device
};

// Loads the kernel for `gpu`, which is current.
[[nodiscard]] std::function<void(const BagLists&, cudaStream_t)> bag_function(const TableView& view, int gpu);

// Enqueues a check of a whole output: the lowest wrong element goes to `first_wrong` (u64, device), else it
// is left as it was.
void check_bags(const BagLists& lists, const TableShape& table, unsigned long long* first_wrong,
                cudaStream_t stream);

}  // namespace grainscope::gnn

#endif
