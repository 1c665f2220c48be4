// The pure parts of transfers that run at once: time spans, what can be, the shuffle of a scattered walk.

#include <gtest/gtest.h>

#include <set>

#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"

namespace grainscope::transfer {
namespace {

TEST(Spans, any_is_the_union_and_all_the_intersection) {
  EXPECT_DOUBLE_EQ(time_any_ran({{0, 2}, {1, 3}}), 3);
  EXPECT_DOUBLE_EQ(time_all_ran({{0, 2}, {1, 3}}), 1);
  EXPECT_DOUBLE_EQ(time_any_ran({{5, 6}, {0, 1}}), 2);  // the gap between them does not count
  EXPECT_DOUBLE_EQ(time_all_ran({{5, 6}, {0, 1}}), 0);
  EXPECT_DOUBLE_EQ(time_any_ran({{0, 4}, {1, 2}}), 4);
  EXPECT_DOUBLE_EQ(time_all_ran({{0, 4}, {1, 2}}), 1);
  EXPECT_DOUBLE_EQ(time_any_ran({{-1, 1}}), 2);
  EXPECT_DOUBLE_EQ(time_any_ran({}), 0);
  EXPECT_DOUBLE_EQ(time_all_ran({}), 0);
}

TEST(Scatter, sends_each_number_to_a_place_of_its_own) {
  for (int bits = 0; bits <= 14; ++bits) {
    const std::uint64_t count = std::uint64_t{1} << bits;
    std::set<std::uint64_t> places;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t place = grainscope::scattered(i, bits);
      EXPECT_LT(place, count);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), count) << bits;
  }
}

TEST(Scatter, leaves_few_neighbours_together) {
  constexpr int kBits = 14;
  int together = 0;
  for (std::uint64_t i = 0; i + 1 < (std::uint64_t{1} << kBits); ++i) {
    together += grainscope::scattered(i, kBits) + 1 == grainscope::scattered(i + 1, kBits) ? 1 : 0;
  }
  EXPECT_LT(together, 20);
}

Transfer peers() {
  Transfer transfer;
  transfer.source = Endpoint::gpu(Placement::device, 1);
  transfer.destination = Endpoint::gpu(Placement::device, 0);
  transfer.bytes = kMiB;
  return transfer;
}

TEST(PossibleTransfers, pass) {
  EXPECT_NO_THROW(require_possible(peers()));
  Transfer walk = peers();
  walk.engine = Engine::sm;
  walk.destination.placement = Placement::registers;
  EXPECT_NO_THROW(require_possible(walk));
}

// Comm|Scope reported 37,197 GB/s for pages that GPU 0 demanded from GPU 0.
TEST(PossibleTransfers, managed_pages_of_a_gpu_do_not_go_to_that_gpu) {
  Transfer transfer = peers();
  transfer.engine = Engine::fault;
  transfer.source = transfer.destination = Endpoint::gpu(Placement::managed, 0);
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer.source.id = 1;
  EXPECT_NO_THROW(require_possible(transfer));
  transfer.by_source = true;
  EXPECT_THROW(require_possible(transfer), UsageError);
}

TEST(PossibleTransfers, others_are_refused) {
  Transfer transfer = peers();
  transfer.bytes = 0;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.source = transfer.destination = Endpoint::host(Placement::pinned, 0);
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.engine = Engine::sm;
  transfer.peer_access = false;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer = peers();
  transfer.destination.placement = Placement::registers;
  EXPECT_THROW(require_possible(transfer), UsageError);
  transfer.engine = Engine::sm;
  transfer.walk.pattern = Walk::Pattern::scattered;
  for (const std::uint64_t piece : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{96}, 2 * kMiB}) {
    transfer.walk.piece_bytes = piece;
    EXPECT_THROW(require_possible(transfer), UsageError) << piece;
  }
  transfer.walk.piece_bytes = 128;
  EXPECT_NO_THROW(require_possible(transfer));
}

TEST(PeerTransfers, are_issued_by_the_end_that_was_asked) {
  Transfer transfer = peers();
  EXPECT_EQ(transfer.gpu(), 0);
  EXPECT_EQ(transfer.peer(), 1);
  transfer.by_source = true;
  EXPECT_EQ(transfer.gpu(), 1);
  EXPECT_EQ(transfer.peer(), 0);
  EXPECT_FALSE(transfer.within_gpu());
}

TEST(ScatteredWalks, ask_for_as_many_requests_as_their_pieces_need) {
  Walk walk{Walk::Pattern::scattered, 0, 16};
  walk.piece_bytes = 32;
  Traffic traffic = walk_traffic(walk, kMiB, false);
  EXPECT_EQ(traffic.requests, kMiB / 32);
  EXPECT_EQ(traffic.bytes, kMiB);
  walk.piece_bytes = 128;
  traffic = walk_traffic(walk, kMiB, false);
  EXPECT_EQ(traffic.requests, kMiB / 128);
}

}  // namespace
}  // namespace grainscope::transfer
