#ifndef GRAINSCOPE_SRC_TRANSFER_BOX_LANE_HPP
#define GRAINSCOPE_SRC_TRANSFER_BOX_LANE_HPP

// One maker for each kind of way to copy a box.

#include <memory>

#include "grainscope/transfer/box_copy.hpp"
#include "shape_lane.hpp"

namespace grainscope::transfer {

using BoxLane = ShapeLane<BoxCopy, BoxEnds>;

[[nodiscard]] std::unique_ptr<BoxLane> make_direct_box_lane(const BoxCopy& copy,
                                                            const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<BoxLane> make_packed_box_lane(const BoxCopy& copy,
                                                            const Surroundings& surroundings);

}  // namespace grainscope::transfer

#endif
