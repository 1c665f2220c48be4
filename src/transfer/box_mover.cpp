#include "box_mover.hpp"

#include "grainscope/core/error.hpp"
#include "peer_access.hpp"

namespace grainscope::transfer {

std::optional<int> host_node(const BoxCopy& copy) {
  for (const Endpoint* end : {&copy.source, &copy.destination}) {
    if (end->side == Endpoint::Side::host) {
      return end->id;
    }
  }
  return std::nullopt;
}

BoxMover::BoxMover(const BoxCopy& copy, const Topology& topology) : copy_(copy), guard_(copy.gpu()) {
  if (const auto node = host_node(copy)) {
    binding_.emplace(topology, *node);
  }
  if (copy.between_gpus()) {
    enable_peer_access(copy.source.id, copy.destination.id);
  }
  ends_.emplace(copy, topology);
}

void BoxMover::start() {
  issue(stream_);
  stream_.synchronize();
  ends_->fill();
}

std::string BoxMover::verify() {
  stream_.synchronize();
  ends_->expect_moved();
  return "every byte of the box at the destination, which held other data before, and that every byte "
         "between "
         "its rows and around it still does";
}

std::unique_ptr<Mover> make_box_mover(const BoxCopy& copy, const Surroundings& surroundings) {
  require_possible(copy.box);
  if (copy.source.side == Endpoint::Side::host && copy.destination.side == Endpoint::Side::host) {
    throw UsageError("a box is copied to or from a GPU, not from host to host");
  }
  if (copy.method == BoxMethod::row_copies && copy.box.all_rows() > kMostRowCopies) {
    throw UsageError("a copy a row of " + std::to_string(copy.box.all_rows()) + " rows; at most " +
                     std::to_string(kMostRowCopies));
  }
  auto mover = copy.method == BoxMethod::pack ? make_packed_box_mover(copy, *surroundings.topology)
                                              : make_direct_box_mover(copy, *surroundings.topology);
  mover->start();
  return mover;
}

}  // namespace grainscope::transfer
