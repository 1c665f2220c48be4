#include "grainscope/gnn/gather_kernel.hpp"

#include <string>
#include <utility>

#include "gather_functions.hpp"
#include "grainscope/core/error.hpp"

namespace grainscope::gnn {

namespace {

GatherFunction function_of(const TableView& view, Mode mode, std::uint32_t width, const GatherGrid& grid) {
  switch (mode) {
    case Mode::circular_shift:
      return shifted_gather(view, width, grid);
    case Mode::masked:
      return masked_gather(view, width, grid);
    case Mode::address_ordered:
      return sorted_gather(view, width, grid);
    case Mode::graphbolt:
      return graphbolt_gather(view, width);
    default:
      return flat_gather(view, width, grid);
  }
}

}  // namespace

GatherKernel::GatherKernel(const TableView& view, Mode mode, std::uint32_t width, int gpu, int blocks,
                           int sms) {
  const std::uint32_t row_bytes = view.shape.row_bytes;
  const std::uint32_t element = mode == Mode::naive || mode == Mode::circular_shift ? width : 2;
  if (!may_load(mode, row_bytes, element, width)) {
    throw UsageError(std::string(name(mode)) + " cannot load " + std::to_string(width) +
                     " bytes at once from rows of " + std::to_string(row_bytes));
  }
  GatherFunction function = function_of(view, mode, width, {gpu, blocks, sms});
  launch_ = std::move(function.launch);
  most_blocks_ = function.most_blocks;
}

}  // namespace grainscope::gnn
