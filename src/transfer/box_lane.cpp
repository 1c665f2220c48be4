#include "box_lane.hpp"

namespace grainscope::transfer {

std::unique_ptr<Mover> make_box_mover(const BoxCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.box);
  if (copy.by_destination && !is_kernel(copy.method)) {
    throw UsageError("only a kernel of one GPU fetches a box from another");
  }
  if (copy.method == BoxMethod::row_copies && copy.box.all_rows() > kMostRowCopies) {
    throw UsageError("a copy a row of " + std::to_string(copy.box.all_rows()) + " rows; at most " +
                     std::to_string(kMostRowCopies));
  }
  return make_shape_mover(copy, surroundings,
                          copy.method == BoxMethod::pack ? make_packed_box_lane : make_direct_box_lane,
                          copy.submission_only);
}

}  // namespace grainscope::transfer
