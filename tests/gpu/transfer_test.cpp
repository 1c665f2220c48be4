#include "grainscope/transfer/transfer.hpp"

#include <algorithm>

#include "every_transfer.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/written.hpp"
#include "transfer_fixture.hpp"

namespace grainscope::transfer {
namespace {

class Transfers : public TransferTest {
 protected:
  [[nodiscard]] std::unique_ptr<Mover> make(const Transfer& transfer) {
    return make_mover(transfer, surroundings());
  }

  void expect_moves(const Transfer& transfer) { TransferTest::expect_moves(*make(transfer)); }

  [[nodiscard]] Transfer walk_of(bool read, std::uint64_t bytes, const Walk& walk) const {
    Transfer transfer = one_way(Engine::sm, Placement::mapped, Placement::registers, read, bytes);
    transfer.walk = walk;
    return transfer;
  }
};

TEST_F(Transfers, copies_move_every_byte_of_every_placement_both_ways) {
  for (const Placement placement :
       {Placement::pageable, Placement::pinned, Placement::registered, Placement::write_combined}) {
    for (const bool to_gpu : {true, false}) {
      for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{256}, kMiB + 4, 8 * kMiB}) {
        SCOPED_TRACE(std::string(name(placement)) + (to_gpu ? " to GPU " : " from GPU ") +
                     std::to_string(bytes));
        Transfer copy = one_way(Engine::copy_engine, placement, Placement::device, to_gpu, bytes);
        copy.flush = placement != Placement::write_combined;
        expect_moves(copy);
      }
    }
  }
}

// The enumeration of tests/unit/core/transfer_test.cpp, carried out.
TEST_F(Transfers, all_that_can_be_move_every_byte) {
  const auto reaches = [&](int from, int to) {
    const auto& peers = runtime().peers;
    return std::any_of(peers.begin(), peers.end(), [&](const cuda::PeerLink& peer) {
      return peer.from == from && peer.to == to && peer.access;
    });
  };
  const bool two_gpus = reaches(0, 1) && reaches(1, 0);
  int moved = 0;
  for (const std::uint64_t bytes : {64 * kKiB, kMiB}) {
    for (const Transfer& transfer : test::every_transfer(bytes, node())) {
      try {
        require_possible(transfer);
      } catch (const UsageError&) {
        continue;
      }
      const bool second = (!transfer.source.on_host() && transfer.source.id == 1) ||
                          (!transfer.destination.on_host() && transfer.destination.id == 1);
      if ((second && !two_gpus) || (transfer.migrates() && !runtime().devices[0].concurrent_managed_access)) {
        continue;
      }
      SCOPED_TRACE(testing::Message() << to_text({{transfer}}) << (transfer.by_source ? ", by source" : ""));
      expect_moves(transfer);
      ++moved;
    }
  }
  EXPECT_GE(moved, 2 * 30);
}

TEST_F(Transfers, a_copy_that_moved_nothing_is_caught) {
  for (const bool to_gpu : {true, false}) {
    const auto mover = make(one_way(Engine::copy_engine, Placement::pinned, Placement::device, to_gpu, kMiB));
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
  }
}

TEST_F(Transfers, a_walk_that_moved_nothing_is_caught) {
  for (const bool read : {true, false}) {
    const auto mover = make(walk_of(read, kMiB, Walk{}));
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
  }
}

TEST_F(Transfers, without_a_gate_move_the_same) {
  for (const bool read : {true, false}) {
    const auto mover = make(walk_of(read, kMiB, Walk{}));
    mover->prepare();
    mover->run_counted();
    EXPECT_FALSE(mover->verify().empty());
  }
}

TEST_F(Transfers, submission_takes_less_time_than_a_large_copy) {
  Transfer copy = one_way(Engine::copy_engine, Placement::pinned, Placement::device, true, 64 * kMiB);
  const auto whole = make(copy);
  copy.submission_only = true;
  const auto call = make(copy);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(call->run() * 3, whole->run());
  }
  EXPECT_FALSE(call->verify().empty());
}

TEST_F(Transfers, walks_of_every_pattern_width_offset_and_grid_read_and_write_all) {
  for (const bool read : {true, false}) {
    for (const int width : {4, 8, 16}) {
      for (const int offset : {0, 4, 32, 64}) {
        for (const int blocks : {0, 1, 7}) {
          for (const Walk::Pattern pattern : {Walk::Pattern::merged, Walk::Pattern::strided}) {
            if (offset % width != 0) {
              continue;
            }
            SCOPED_TRACE(std::to_string(width) + " wide, off by " + std::to_string(offset));
            expect_moves(walk_of(read, kMiB + 128, {pattern, offset, width, blocks, 256}));
          }
        }
      }
    }
  }
}

TEST_F(Transfers, mapped_memory_of_every_making_can_be_read_and_written) {
  for (const Allocation allocation :
       {Allocation::host_alloc, Allocation::registered, Allocation::accessed_by}) {
    for (const bool read : {true, false}) {
      SCOPED_TRACE(name(allocation));
      Transfer transfer = walk_of(read, 2 * kMiB, Walk{});
      transfer.allocation = allocation;
      expect_moves(transfer);
    }
  }
}

TEST_F(Transfers, walks_that_cannot_be_are_refused) {
  EXPECT_THROW(static_cast<void>(make(walk_of(true, kMiB, {Walk::Pattern::merged, 4, 8}))), UsageError);
  EXPECT_THROW(static_cast<void>(make(walk_of(true, kMiB, {Walk::Pattern::merged, 128, 4}))), UsageError);
  EXPECT_THROW(static_cast<void>(make(walk_of(true, kMiB, {Walk::Pattern::merged, 0, 2}))), UsageError);
  EXPECT_THROW(static_cast<void>(make(walk_of(true, kMiB + 4, Walk{}))), UsageError);
  EXPECT_THROW(
      static_cast<void>(make(one_way(Engine::copy_engine, Placement::pinned, Placement::device, true, 0))),
      UsageError);
}

TEST_F(Transfers, managed_pages_move_on_demand_and_by_prefetch_both_ways) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  for (const Engine engine : {Engine::fault, Engine::prefetch}) {
    for (const bool to_gpu : {true, false}) {
      for (const std::uint64_t bytes : {64 * kKiB, 3 * kMiB, 32 * kMiB}) {
        SCOPED_TRACE(std::string(engine == Engine::fault ? "fault" : "prefetch") +
                     (to_gpu ? " to GPU" : " from GPU"));
        Transfer transfer = one_way(engine, Placement::managed, Placement::managed, to_gpu, bytes);
        transfer.host_threads = 3;
        expect_moves(transfer);
      }
    }
  }
}

TEST_F(Transfers, a_managed_sample_from_the_wrong_side_is_caught) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  Transfer transfer = one_way(Engine::fault, Placement::managed, Placement::managed, true, 4 * kMiB);
  const auto mover = make(transfer);
  mover->prepare();
  static_cast<void>(mover->run());
  // The pages are on the GPU now; a second sample without preparing would time an access that moves nothing.
  EXPECT_THROW(static_cast<void>(mover->run()), FailedError);
}

}  // namespace
}  // namespace grainscope::transfer
