// naive, circular_shift and vector: a flat grid over the output.

#include "gather_rows.cuh"

namespace grainscope::gnn {

GatherFunction flat_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_rows<AnyOrder<Naive>>(view, width, grid);
}

GatherFunction shifted_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_rows<AnyOrder<CircularShift>>(view, width, grid);
}

}  // namespace grainscope::gnn
