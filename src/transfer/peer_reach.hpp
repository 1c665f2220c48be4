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
  explicit PeerReach(const Transfer& transfer)
      : PeerReach(transfer.source, transfer.destination, transfer.peer_access) {}
  PeerReach(const Endpoint& source, const Endpoint& destination, bool wanted = true) {
    if (wanted && !source.on_host() && !destination.on_host() && source.id != destination.id) {
      there_.emplace(source.id, destination.id);
      back_.emplace(destination.id, source.id);
    }
  }

 private:
  std::optional<cuda::PeerAccess> there_;
  std::optional<cuda::PeerAccess> back_;
};

}  // namespace grainscope::transfer

#endif
