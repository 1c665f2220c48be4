#ifndef GRAINSCOPE_SRC_TRANSFER_BOX_LANE_HPP
#define GRAINSCOPE_SRC_TRANSFER_BOX_LANE_HPP

// What the ways to copy a box have in common as lanes.

#include <memory>

#include "grainscope/transfer/box_copy.hpp"
#include "grainscope/transfer/lane.hpp"
#include "peer_reach.hpp"

namespace grainscope::transfer {

// Both ends, and the check.
class BoxLane : public Lane {
 public:
  BoxLane(const BoxCopy& copy, const Topology& topology);

  // Once before any gate closes, so that nothing is loaded or set up behind one; then the ends are filled.
  void start();
  std::string verify() final;

 protected:
  [[nodiscard]] const BoxCopy& copy() const { return copy_; }
  [[nodiscard]] const BoxEnds& ends() const { return ends_; }

 private:
  BoxCopy copy_;
  PeerReach reach_;
  BoxEnds ends_;
};

[[nodiscard]] std::unique_ptr<BoxLane> make_direct_box_lane(const BoxCopy& copy, const Topology& topology);
[[nodiscard]] std::unique_ptr<BoxLane> make_packed_box_lane(const BoxCopy& copy, const Topology& topology);

}  // namespace grainscope::transfer

#endif
