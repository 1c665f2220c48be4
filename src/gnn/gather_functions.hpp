#ifndef GRAINSCOPE_SRC_GNN_GATHER_FUNCTIONS_HPP
#define GRAINSCOPE_SRC_GNN_GATHER_FUNCTIONS_HPP

// What the files of kernels offer to the one that chooses among them.

#include <functional>
#include <optional>

#include "grainscope/gnn/gather_kernel.hpp"

namespace grainscope::gnn {

struct GatherFunction {
  std::function<void(const GatherLists&, cudaStream_t)> launch;
  int most_blocks = 0;  // of a grid; 0: it follows from the rows
};

struct GatherGrid {
  int gpu = 0;
  int blocks = 0;  // at most; 0: as many as the multiprocessors hold
  int sms = 0;     // multiprocessors to fill; 0: all of the GPU's
};

// Of a table that lies in one piece; empty for any other.
[[nodiscard]] inline std::optional<FlatView> flat_view(const TableView& view) {
  const TableShape& shape = view.shape;
  if (shape.local_rows == shape.rows) {
    return FlatView{view.local, shape.row_bytes};
  }
  if (shape.host_rows() == shape.rows && shape.rows <= shape.by_chunk_rows.divisor) {
    return FlatView{view.chunks[0], shape.row_bytes};
  }
  return std::nullopt;
}

[[nodiscard]] GatherFunction flat_gather(const TableView& view, std::uint32_t width, const GatherGrid& grid);
[[nodiscard]] GatherFunction shifted_gather(const TableView& view, std::uint32_t width,
                                            const GatherGrid& grid);
[[nodiscard]] GatherFunction masked_gather(const TableView& view, std::uint32_t width,
                                           const GatherGrid& grid);
[[nodiscard]] GatherFunction sorted_gather(const TableView& view, std::uint32_t width,
                                           const GatherGrid& grid);
[[nodiscard]] GatherFunction graphbolt_gather(const TableView& view, std::uint32_t width);

}  // namespace grainscope::gnn

#endif
