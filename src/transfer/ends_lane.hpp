#ifndef GRAINSCOPE_SRC_TRANSFER_ENDS_LANE_HPP
#define GRAINSCOPE_SRC_TRANSFER_ENDS_LANE_HPP

// What contiguous copies have in common as lanes, whoever makes them: memory at both ends, and its check.

#include <string>

#include "grainscope/transfer/end_memory.hpp"
#include "grainscope/transfer/lane.hpp"
#include "peer_reach.hpp"

namespace grainscope::transfer {

class EndsLane : public Lane {
 public:
  EndsLane(const Transfer& transfer, const Surroundings& surroundings)
      : Lane(transfer.gpu(), transfer.node(), transfer.bytes),
        transfer_(transfer),
        reach_(transfer),
        ends_(transfer.source, transfer.destination, transfer.bytes, surroundings) {
    ends_.fill();
  }

  void prepare() final {
    if (transfer_.flush) {
      ends_.source.flush();
      ends_.destination.flush();
    }
  }

  std::string verify() final {
    ends_.destination.expect_payload();
    return "every word at the destination, which held other data before";
  }

 protected:
  [[nodiscard]] const Transfer& transfer() const { return transfer_; }
  [[nodiscard]] const EndMemory& source() const { return ends_.source; }
  [[nodiscard]] const EndMemory& destination() const { return ends_.destination; }

 private:
  Transfer transfer_;
  PeerReach reach_;
  BothEnds ends_;
};

}  // namespace grainscope::transfer

#endif
