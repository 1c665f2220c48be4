#include "grainscope/gnn/gather_kernel.hpp"

#include <string>

#include "gather_functions.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::gnn {

GatherKernel::GatherKernel(const TableView& view, Mode mode, std::uint32_t width, int gpu, int blocks) {
  const std::uint32_t row_bytes = view.shape.row_bytes;
  const std::uint32_t element = mode == Mode::naive || mode == Mode::circular_shift ? width : 2;
  if (!may_load(mode, row_bytes, element, width)) {
    throw UsageError(std::string(name(mode)) + " cannot load " + std::to_string(width) +
                     " bytes at once from rows of " + std::to_string(row_bytes));
  }
  const GatherGrid grid{gpu, blocks};
  switch (mode) {
    case Mode::circular_shift:
      launch_ = shifted_gather(view, width, grid);
      break;
    case Mode::masked:
    case Mode::address_ordered:
      launch_ = masked_gather(view, width, grid);
      break;
    case Mode::graphbolt:
      launch_ = graphbolt_gather(view, width);
      break;
    default:
      launch_ = flat_gather(view, width, grid);
      break;
  }
}

}  // namespace grainscope::gnn
