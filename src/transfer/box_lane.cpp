#include "box_lane.hpp"

#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::transfer {
namespace {

void require_possible(const BoxCopy& copy) {
  transfer::require_possible(copy.box);
  if (copy.source.on_host() && copy.destination.on_host()) {
    throw UsageError("a box is copied to or from a GPU, not from host to host");
  }
  const bool is_kernel = copy.method == BoxMethod::kernel_strided || copy.method == BoxMethod::kernel_chunked;
  if (copy.by_destination && !(copy.between_gpus() && is_kernel)) {
    throw UsageError("only a kernel of one GPU fetches a box from another");
  }
  if (copy.method == BoxMethod::row_copies && copy.box.all_rows() > kMostRowCopies) {
    throw UsageError("a copy a row of " + std::to_string(copy.box.all_rows()) + " rows; at most " +
                     std::to_string(kMostRowCopies));
  }
}

std::unique_ptr<Lane> make_box_lane(const BoxCopy& copy, const Topology& topology) {
  const NodeBinding binding(topology, copy.node());
  const cuda::DeviceGuard guard(copy.gpu());
  auto lane = copy.method == BoxMethod::pack ? make_packed_box_lane(copy, topology)
                                             : make_direct_box_lane(copy, topology);
  lane->start();
  return lane;
}

}  // namespace

BoxLane::BoxLane(const BoxCopy& copy, const Topology& topology)
    : Lane(copy.gpu(), copy.node(), copy.box.bytes()),
      copy_(copy),
      reach_(copy.source, copy.destination),
      ends_(copy, topology) {}

void BoxLane::start() {
  const cuda::Stream stream;
  issue(stream);
  stream.synchronize();
  ends_.fill();
}

std::string BoxLane::verify() {
  ends_.expect_moved();
  return "every byte of the box at the destination, which held other data before, and that every byte "
         "between its rows and around it still does";
}

std::unique_ptr<Mover> make_box_mover(const BoxCopy& copy, const Surroundings& surroundings) {
  require_possible(copy);
  std::vector<MoverLane> lanes;
  lanes.push_back({make_box_lane(copy, *surroundings.topology)});
  return std::make_unique<Mover>(std::move(lanes), surroundings, copy.submission_only);
}

}  // namespace grainscope::transfer
