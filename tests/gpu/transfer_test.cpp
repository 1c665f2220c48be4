// Transfers by every engine, and the families of one transfer at a time, as the suite would run them.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "every_transfer.hpp"
#include "families.hpp"
#include "family_fixture.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/compat.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/hint.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/cuda/verification.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/placement.hpp"
#include "grainscope/transfer/mover.hpp"
#include "grainscope/transfer/transfer.hpp"
#include "grainscope/transfer/written.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"
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

TEST_F(Transfers, relays_move_every_byte_both_ways_and_say_how_long_each_part_took) {
  if (runtime().devices.size() < 2) {
    GTEST_SKIP() << "needs two GPUs";
  }
  for (const Engine engine : {Engine::copy_engine, Engine::sm}) {
    for (const bool to_gpu : {true, false}) {
      for (const std::uint64_t bytes : {8 * kKiB, 64 * kKiB + 20, kMiB + 4, 96 * kMiB}) {
        for (const int share : {1, 50, 99}) {
          SCOPED_TRACE(std::string(name(engine)) + (to_gpu ? " to GPU " : " from GPU ") +
                       std::to_string(bytes) + " share " + std::to_string(share));
          Transfer copy = one_way(engine, Placement::pinned, Placement::device, to_gpu, bytes);
          copy.relay.gpus = 2;
          copy.relay.share = share;
          if (engine == Engine::copy_engine) {
            copy.relay.buffers = 1 + share % 3;
            copy.relay.chunk_bytes = bytes > kMiB ? kMiB : 0;
          }
          const auto mover = make(copy);
          TransferTest::expect_moves(*mover);
          Measurement measurement;
          mover->describe(measurement);
          EXPECT_EQ(measurement.counters.at("relayed_bytes"), static_cast<double>(relayed_bytes(copy)));
          EXPECT_GT(measurement.counters.at("direct_s"), 0);
          EXPECT_GT(measurement.counters.at("relays_s"), 0);
        }
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

class HintedPages : public Transfers {
 protected:
  void SetUp() override {
    Transfers::SetUp();
    if (!IsSkipped() && !runtime().devices[0].concurrent_managed_access) {
      GTEST_SKIP() << "managed memory does not migrate on demand here";
    }
  }
  [[nodiscard]] Transfer demand_under(cuda::Hint hint, std::uint64_t bytes) const {
    Transfer transfer = one_way(Engine::fault, Placement::managed, Placement::managed, true, bytes);
    transfer.hint = hint;
    return transfer;
  }
  // After three samples.
  [[nodiscard]] Measurement described(const Transfer& transfer) {
    const auto mover = make(transfer);
    TransferTest::expect_moves(*mover);
    Measurement measurement;
    mover->describe(measurement);
    return measurement;
  }
};

// Every word is added up under every hint; how many pages leave the host is what tells the hints apart.
TEST_F(HintedPages, are_all_read_and_leave_the_host_only_where_the_hint_lets_them) {
  for (const cuda::Hint hint : cuda::kHints) {
    if (hint == cuda::Hint::none) {
      continue;
    }
    for (const std::uint64_t bytes : {64 * kKiB, 3 * kMiB, 32 * kMiB}) {
      SCOPED_TRACE(std::string(cuda::name(hint)) + " of " + format_bytes(bytes));
      const Measurement measurement = described(demand_under(hint, bytes));
      ASSERT_TRUE(measurement.counters.contains("again_gb_s"));
      EXPECT_GT(measurement.counters.at("again_gb_s"), 0);
      if (!measurement.counters.contains("moved_bytes")) {
        GTEST_SKIP() << "the system does not tell where pages live";
      }
      const double moved = measurement.counters.at("moved_bytes");
      EXPECT_GE(*measurement.link_bytes_least, bytes);
      if (cuda::migrates(hint)) {
        EXPECT_GE(moved, static_cast<double>(bytes));
        EXPECT_LE(moved, static_cast<double>(bytes + base_page_bytes()));  // it may begin within a page
      } else {
        EXPECT_EQ(moved, 0) << "a page left the host";
      }
    }
  }
}

// More than the GPU's cache holds: what has come to the GPU's memory, as pages or as copies of them, is read
// again many times as fast as the link could bring it; what is read in place is not.
TEST_F(HintedPages, are_read_again_from_the_gpus_memory_or_over_the_link) {
  std::map<std::string, double> again;
  for (const cuda::Hint hint : cuda::kHints) {
    if (hint != cuda::Hint::none) {
      again[cuda::name(hint)] = described(demand_under(hint, 256 * kMiB)).counters.at("again_gb_s");
    }
  }
  for (const char* in_place : {"preferred_host", "accessed_by"}) {
    for (const char* on_gpu : {"read_mostly", "preferred_gpu", "prefetch"}) {
      EXPECT_GT(again[on_gpu], 2 * again[in_place]) << on_gpu << " and " << in_place;
    }
  }
}

TEST_F(HintedPages, of_a_second_sample_without_preparing_are_caught) {
  for (const cuda::Hint hint : {cuda::Hint::accessed_by, cuda::Hint::preferred_gpu}) {
    const auto mover = make(demand_under(hint, 4 * kMiB));
    EXPECT_THROW(static_cast<void>(mover->verify()), FailedError) << "nothing was read";
    mover->prepare();
    static_cast<void>(mover->run());
    EXPECT_THROW(static_cast<void>(mover->run()), FailedError);
  }
}

TEST_F(HintedPages, stand_at_a_gate_unless_a_prefetch_is_timed_with_them) {
  for (const cuda::Hint hint : {cuda::Hint::read_mostly, cuda::Hint::accessed_by, cuda::Hint::prefetch}) {
    const auto mover = make(demand_under(hint, kMiB));
    EXPECT_EQ(mover->timing().clock, Clock::event);
    EXPECT_EQ(mover->timing().gated, hint != cuda::Hint::prefetch) << cuda::name(hint);
  }
}

// What the residency proof rests on: a hint is what the driver says that it is, and it can be taken back.
TEST_F(HintedPages, are_read_in_place_until_the_hint_is_taken_back) {
  const cuda::DeviceGuard guard(0);
  const cuda::ManagedBuffer buffer(budget_, 0, 8 * kMiB);
  auto* words = static_cast<std::uint32_t*>(buffer.data());
  const std::uint64_t count = buffer.bytes() / sizeof(std::uint32_t);
  fill_pattern(words, count, kPayload);
  const cuda::Stream stream;
  const auto absent_after_a_read = [&] {
    EXPECT_FALSE(cuda::find_mismatch(words, count, kPayload, stream).has_value());
    const auto pages = pages_present(buffer.data(), buffer.bytes(), 0);
    return pages ? std::optional(pages->absent) : std::nullopt;
  };
  cuda::give_hint(buffer.data(), buffer.bytes(), cuda::Hint::accessed_by, 0);
  const auto in_place = absent_after_a_read();
  if (!in_place) {
    GTEST_SKIP() << "the system does not tell where pages live";
  }
  EXPECT_EQ(*in_place, 0U);
  cuda::take_back_hint(buffer.data(), buffer.bytes(), cuda::Hint::accessed_by, 0, stream);
  cuda::check(cuda::prefetch(buffer.data(), buffer.bytes(), cuda::Location::gpu(0), stream.get()),
              "prefetch");
  stream.synchronize();
  const std::optional<std::uint64_t> all = buffer.bytes() / base_page_bytes();
  EXPECT_EQ(absent_after_a_read(), all);
  // Read-mostly ones are then on the GPU by themselves, also those that nobody read.
  cuda::check(cuda::prefetch(buffer.data(), buffer.bytes(), cuda::Location::host(), stream.get()),
              "prefetch");
  stream.synchronize();
  cuda::give_hint(buffer.data(), buffer.bytes(), cuda::Hint::read_mostly, 0);
  cuda::take_back_hint(buffer.data(), buffer.bytes(), cuda::Hint::read_mostly, 0, stream);
  stream.synchronize();
  const auto left = pages_present(buffer.data(), buffer.bytes(), 0);
  EXPECT_EQ(left ? std::optional(left->absent) : std::nullopt, all);
}

class PageCalls : public HintedPages {
 protected:
  void SetUp() override {
    HintedPages::SetUp();
    if (!IsSkipped() && (!cuda::kHasManagedBatch || runtime().driver_version.value_or(0) < 13000)) {
      GTEST_SKIP() << "needs CUDA 13 of toolkit and driver";
    }
  }
  [[nodiscard]] Transfer pages(PageCall call, bool to_gpu, std::uint64_t bytes, std::uint64_t piece) const {
    Transfer transfer = one_way(Engine::prefetch, Placement::managed, Placement::managed, to_gpu, bytes);
    transfer.page_call = call;
    transfer.piece_bytes = piece;
    return transfer;
  }
};

TEST_F(PageCalls, of_one_batch_move_every_piece_both_ways) {
  for (const bool to_gpu : {true, false}) {
    for (const std::uint64_t piece : {std::uint64_t{0}, 4 * kKiB, 12 * kKiB, 2 * kMiB}) {
      SCOPED_TRACE(format_bytes(piece) + (to_gpu ? " to GPU" : " from GPU"));
      expect_moves(pages(PageCall::prefetch_batch, to_gpu, 8 * kMiB, piece));
    }
  }
}

// What was written after a discard is there, over and over: no discard comes late and drops it.
TEST_F(PageCalls, that_discard_leave_what_is_written_afterwards) {
  for (const PageCall call : {PageCall::discard, PageCall::discard_and_prefetch}) {
    for (const bool to_gpu : {true, false}) {
      for (const std::uint64_t piece : {std::uint64_t{0}, 64 * kKiB}) {
        SCOPED_TRACE(std::string(name(call)) + (to_gpu ? " to GPU, " : " from GPU, ") + format_bytes(piece));
        const Measurement measurement = described(pages(call, to_gpu, 8 * kMiB, piece));
        EXPECT_TRUE(measurement.counters.contains("dropped_share"));
      }
    }
  }
}

TEST_F(PageCalls, without_a_sample_are_caught) {
  const auto mover = make(pages(PageCall::discard, true, kMiB, 0));
  EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
  mover->prepare();
  static_cast<void>(mover->run());
  EXPECT_FALSE(mover->verify().empty());
  EXPECT_THROW(static_cast<void>(mover->run()), FailedError) << "pages were not brought back";
}

}  // namespace
}  // namespace grainscope::transfer

// Every case of the families of one transfer at a time that have no test of their own parts.

namespace grainscope::harness {
namespace {

class TransferFamilies : public FamilyTest {
 protected:
  void expect_all_to_measure(const Family& family) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      if (const auto measurement = run(benchmark)) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_GT(measurement->bytes, 0U);
        EXPECT_GT(measurement->samples.summary.median, 0);
      }
    }
    EXPECT_GT(measured, 0U);
  }
};

// Discards move no bytes: they are operations.
TEST_F(TransferFamilies, every_managed_case_measures) {
  std::size_t measured = 0;
  for (const Benchmark& benchmark : listed(transfer_managed(), Preset::smoke)) {
    SCOPED_TRACE(benchmark.id.name());
    if (const auto measurement = run(benchmark)) {
      ++measured;
      EXPECT_EQ(why_impossible(*measurement), "");
      EXPECT_GT(measurement->samples.summary.median, 0);
      const bool discards = to_string(benchmark.id.axis("method")).starts_with("discard");
      EXPECT_EQ(measurement->bytes == 0, discards);
      EXPECT_EQ(measurement->operations > 0, discards);
      EXPECT_EQ(measurement->counters.contains("dropped_share"), discards);
    }
  }
  EXPECT_GT(measured, 0U);
}

TEST_F(TransferFamilies, every_copy_within_the_host_measures) {
  expect_all_to_measure(transfer_host_copy());
}

// One line of each kind, and lanes that no family puts side by side.
TEST_F(TransferFamilies, what_is_written_measures) {
  Scope scope = make_scope(Preset::smoke, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
  for (const char* line :
       {"host(registered) -> gpu:0 by sm, 64KiB, 1MiB", "gpu:0 -> host(write_combined) by sm, 1MiB, blocks 8",
        "host(write_combined) -> gpu:0(registers) by sm, 1MiB, width 16, access strided, threads 256",
        "host(mapped) -> gpu:0 by copy_engine, 1MiB, pieces 4KiB, flush",
        "host(pinned) -> gpu:0 by copy_engine, 1MiB, submission",
        "host(mapped) -> gpu:0(registers) by sm, 1MiB, accessed_by",
        "host(mapped) -> gpu:0(registers) by sm, 1MiB, access scattered, pieces 4KiB",
        "gpu:0 -> gpu:0(registers) by sm, 1MiB", "host(managed) -> gpu:0 by fault, 1MiB",
        "host(managed) -> gpu:0 by fault, 64KiB, pieces 4KiB, stride 64KiB",
        "gpu:0 -> host(managed) by fault, 1MiB, host_threads 2", "host(managed) -> gpu:0 by prefetch, 1MiB",
        "host(registered) -> gpu:0 by sm, 1MiB; gpu:0 -> host(pageable) by copy_engine, 4MiB",
        "host(pinned) -> gpu:0 by copy_engine, 4MiB; gpu:0 -> gpu:0(registers) by sm, background, repeats "
        "20; "
        "compute(gpu:0), 2ms"}) {
    const auto written = transfer::parse_written(line);
    scope.transfers.insert(scope.transfers.end(), written.begin(), written.end());
  }
  std::size_t measured = 0;
  for (const Benchmark& benchmark : list_all({transfer_written()}, *machine_, scope)) {
    SCOPED_TRACE(benchmark.id.name());
    if (const auto measurement = run(benchmark)) {
      ++measured;
      EXPECT_EQ(why_impossible(*measurement), "");
      EXPECT_FALSE(measurement->verification.empty());
      EXPECT_GT(measurement->samples.summary.median, 0);
      EXPECT_EQ(measurement->bytes == 0, benchmark.id.name().find("submission") != std::string::npos);
    }
  }
  EXPECT_GE(measured, 10U);
}

TEST_F(TransferFamilies, pieces_in_a_peers_memory_and_in_its_own_measure) {
  expect_all_to_measure(grain_gpu_memory());
}

}  // namespace
}  // namespace grainscope::harness

// Pieces of managed memory on demand, and every method of grain/pieces as the suite would run it.

namespace grainscope::transfer {
namespace {

class PiecesOnDemand : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !runtime().devices[0].concurrent_managed_access) {
      GTEST_SKIP() << "managed memory does not migrate on demand here";
    }
  }

  [[nodiscard]] std::unique_ptr<Mover> make(std::uint64_t pieces, std::uint64_t piece, std::uint64_t stride) {
    Transfer transfer;
    transfer.engine = Engine::fault;
    transfer.source = Endpoint::host(Placement::managed, topology_.usable_nodes().front());
    transfer.destination = Endpoint::gpu(Placement::managed, 0);
    transfer.bytes = pieces * piece;
    transfer.piece_bytes = piece;
    transfer.stride_bytes = stride;
    return make_mover(transfer, {&topology_, &budget_});
  }

  const Topology topology_ = Topology::read();
  cuda::ManagedBudget budget_;
};

TEST_F(PiecesOnDemand, of_every_size_come_and_are_added_up_right_over_and_over) {
  struct Shape {
    std::uint64_t pieces, piece, stride;
  };
  for (const Shape shape :
       {Shape{1, 16, 16}, Shape{32, 32, 2 * kMiB}, Shape{7, 48, 64 * kKiB + 16},
        Shape{32, 4 * kKiB, 2 * kMiB}, Shape{5, 4 * kKiB + 16, 2 * kMiB}, Shape{32, kMiB, 2 * kMiB},
        Shape{4, 2 * kMiB, 2 * kMiB}, Shape{1, 8 * kMiB, 8 * kMiB}}) {
    SCOPED_TRACE(std::to_string(shape.pieces) + " of " + format_bytes(shape.piece));
    const auto mover = make(shape.pieces, shape.piece, shape.stride);
    for (int i = 0; i < 3; ++i) {
      mover->prepare();
      EXPECT_GT(mover->run(), 0);
    }
    EXPECT_FALSE(mover->verify().empty());
    EXPECT_TRUE(mover->timing().gated);
    EXPECT_EQ(mover->timing().clock, Clock::event);
  }
}

TEST_F(PiecesOnDemand, that_were_never_read_are_caught) {
  const auto mover = make(8, 128, 2 * kMiB);
  EXPECT_THROW(static_cast<void>(mover->verify()), FailedError);
}

TEST_F(PiecesOnDemand, that_already_live_on_the_gpu_are_caught) {
  const auto mover = make(8, 128, 2 * kMiB);
  mover->prepare();
  static_cast<void>(mover->run());
  EXPECT_THROW(static_cast<void>(mover->run()), FailedError);
}

// A page at least for each piece, and no more than there is; a tiny piece brings more than itself.
TEST_F(PiecesOnDemand, move_whole_pages_and_say_how_many) {
  for (const std::uint64_t piece : {std::uint64_t{32}, 4 * kKiB, 256 * kKiB, 2 * kMiB}) {
    SCOPED_TRACE(format_bytes(piece));
    constexpr std::uint64_t kPieces = 16;
    const auto mover = make(kPieces, piece, 2 * kMiB);
    for (int i = 0; i < 4; ++i) {
      mover->prepare();
      static_cast<void>(mover->run());
    }
    Measurement measurement;
    mover->describe(measurement);
    if (!measurement.link_bytes_least) {
      GTEST_SKIP() << "the system does not tell where pages live";
    }
    const std::uint64_t page = base_page_bytes();
    EXPECT_EQ(*measurement.link_bytes_least % page, 0U);
    EXPECT_GE(*measurement.link_bytes_least, kPieces * std::max(piece, page));
    EXPECT_LE(*measurement.link_bytes_least, kPieces * 2 * kMiB);
    EXPECT_DOUBLE_EQ(measurement.counters.at("moved_bytes"),
                     static_cast<double>(*measurement.link_bytes_least));
    EXPECT_DOUBLE_EQ(measurement.counters.at("moved_bytes_per_piece") * kPieces,
                     static_cast<double>(*measurement.link_bytes_least));
  }
}

TEST_F(PiecesOnDemand, beyond_the_budget_are_skipped) {
  const std::uint64_t most = budget_.available(0);
  EXPECT_THROW(static_cast<void>(make(most / (2 * kMiB) + 8, 128, 2 * kMiB)), SkipError);
}

}  // namespace
}  // namespace grainscope::transfer

namespace grainscope::harness {
namespace {

class GrainFamily : public GpuTest {};

TEST_F(GrainFamily, every_method_measures_and_none_is_impossible) {
  const Machine machine = read_machine();
  cuda::ManagedBudget managed;
  LinkPeaks peaks(machine, [](const LinkPeak&, const std::vector<Warning>&) {});
  std::set<std::string> measured;
  const Scope scope =
      make_scope(Preset::quick, gpu_targets(machine, {}), false, {machine.topology.usable_nodes().front()});
  for (const Benchmark& benchmark : list_all({grain_pieces()}, machine, scope)) {
    SCOPED_TRACE(benchmark.id.name());
    const std::string method = to_string(benchmark.id.axis("method"));
    const auto grain = static_cast<std::uint64_t>(std::get<std::int64_t>(benchmark.id.axis("grain")));
    if (!benchmark.skip.empty()) {
      continue;
    }
    Session session(machine, {.ci_target = 0.1, .budget_s = 0.02, .warmups = 1}, peaks, &managed,
                    [] { return false; });
    const Measurement measurement = benchmark.run(session);
    EXPECT_EQ(why_impossible(measurement), "");
    EXPECT_EQ(measurement.operations * grain, measurement.bytes);
    EXPECT_TRUE(measurement.link_peak_gb_s.has_value());
    if (method == "managed_demand" && measurement.link_bytes_least) {
      EXPECT_GE(*measurement.link_bytes_least, measurement.bytes);
    }
    measured.insert(method);
  }
  EXPECT_TRUE(measured.contains("graph"));
  EXPECT_TRUE(measured.contains("copy_engine"));
  EXPECT_TRUE(measured.contains("pageable_copy"));
}

}  // namespace
}  // namespace grainscope::harness
