#include "transfer_fixture.hpp"

#include <utility>

namespace grainscope {

using transfer::Endpoint;

int TransferTest::node() const {
  return topology_.usable_nodes().front();
}

transfer::Transfer TransferTest::one_way(transfer::Engine engine, transfer::Placement host,
                                         transfer::Placement gpu, bool to_gpu, std::uint64_t bytes) const {
  transfer::Transfer transfer;
  transfer.engine = engine;
  transfer.source = Endpoint::host(host, node());
  transfer.destination = Endpoint::gpu(gpu, 0);
  if (!to_gpu) {
    std::swap(transfer.source, transfer.destination);
  }
  transfer.bytes = bytes;
  return transfer;
}

Endpoint TransferTest::host() const {
  return Endpoint::host(transfer::Placement::pinned, node());
}

Endpoint TransferTest::card() {
  return Endpoint::gpu(transfer::Placement::device, 0);
}

std::vector<transfer::Route> TransferTest::routes() const {
  std::vector<transfer::Route> all{route(host(), card()), route(card(), host()), route(card(), card())};
  for (const cuda::PeerLink& peer : runtime().peers) {
    if (peer.from == 0 && peer.access) {
      all.push_back(route(card(), Endpoint::gpu(transfer::Placement::device, peer.to)));
    }
  }
  return all;
}

void TransferTest::expect_moves(transfer::Mover& mover) {
  for (int i = 0; i < 3; ++i) {
    mover.prepare();
    const double any_s = mover.run();
    EXPECT_GT(any_s, 0);
    for (const transfer::Span& span : mover.spans()) {
      EXPECT_GT(span.length_s(), 0);
      EXPECT_LE(span.length_s(), any_s * 1.001);
    }
  }
  EXPECT_FALSE(mover.verify().empty());
  EXPECT_FALSE(mover.timing().timed.empty());
}

}  // namespace grainscope
