#ifndef GRAINSCOPE_SRC_TRANSFER_PEER_REACH_HPP
#define GRAINSCOPE_SRC_TRANSFER_PEER_REACH_HPP

#include <optional>

#include "grainscope/cuda/peer_access.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

// Lets both ends of a transfer between two GPUs reach each other for as long as it lives, where the transfer
// asks for that; nothing for any other. Both directions, since a copy may be issued from either end.
class PeerReach {
 public:
  explicit PeerReach(const Transfer& transfer) {
    if (transfer.between_gpus() && !transfer.within_gpu() && transfer.peer_access) {
      there_.emplace(transfer.source.id, transfer.destination.id);
      back_.emplace(transfer.destination.id, transfer.source.id);
    }
  }

 private:
  std::optional<cuda::PeerAccess> there_;
  std::optional<cuda::PeerAccess> back_;
};

}  // namespace grainscope::transfer

#endif
