#ifndef GRAINSCOPE_SRC_TRANSFER_LANES_HPP
#define GRAINSCOPE_SRC_TRANSFER_LANES_HPP

// What the ways to move bytes have in common. One maker for each; make_lane chooses, with the GPU current
// and the thread bound. Each checks nothing that require_possible checked.

#include <memory>
#include <optional>

#include "grainscope/cuda/device.hpp"
#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

[[nodiscard]] std::unique_ptr<Lane> make_copy_lane(const Transfer& transfer,
                                                   const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_kernel_copy_lane(const Transfer& transfer,
                                                          const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_relay_lane(const Transfer& transfer,
                                                    const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_walk_lane(const Transfer& transfer,
                                                   const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Lane> make_managed_lane(const Transfer& transfer,
                                                      const Surroundings& surroundings);

// Blocks of a grid of Load::bulk: as many as asked for, or one a multiprocessor, which kernels that run at
// once share; but none without work.
[[nodiscard]] unsigned bulk_blocks(const Walk& walk, std::uint64_t bytes, int gpu);

// Throws FailedError, naming the first wrong word, unless `mismatch` is empty.
void expect_payload(std::optional<std::uint64_t> mismatch, const char* where);

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
