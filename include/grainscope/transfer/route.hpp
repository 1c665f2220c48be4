#ifndef GRAINSCOPE_TRANSFER_ROUTE_HPP
#define GRAINSCOPE_TRANSFER_ROUTE_HPP

// From where to where a copy goes that is not contiguous, and who makes it.

#include "grainscope/transfer/transfer.hpp"

namespace grainscope::transfer {

struct Route {
  Endpoint source;  // pinned on the host, or device memory
  Endpoint destination;
  int staging_node = 0;         // where no end is on the host: whose CPUs submit it
  bool by_destination = false;  // between GPUs: the one that receives carries it out, with a kernel

  // The GPU that carries it out: the source, unless that is the host or `by_destination`.
  [[nodiscard]] int gpu() const { return source.on_host() || by_destination ? destination.id : source.id; }
  // Between GPUs: the other one.
  [[nodiscard]] int peer() const { return by_destination ? source.id : destination.id; }
  // The node whose CPUs submit it: the host end's, where there is one.
  [[nodiscard]] int node() const {
    return source.on_host() ? source.id : destination.on_host() ? destination.id : staging_node;
  }
  [[nodiscard]] bool has_host() const { return source.on_host() || destination.on_host(); }
  [[nodiscard]] bool between_gpus() const { return !has_host() && source.id != destination.id; }
};

}  // namespace grainscope::transfer

#endif
