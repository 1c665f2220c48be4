// masked: warps, or parts of them, walk rows from the line boundary before them.

#include "gather_rows.cuh"

namespace grainscope::gnn {

GatherFunction masked_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid) {
  return bind_masked<AnyOrder<Masked>>(view, width, grid);
}

}  // namespace grainscope::gnn
