// Several transfers at once, the three ways in which Comm|Scope's duplex benchmarks went wrong, and every
// case of the families of several transfers.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "family_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/device.hpp"
#include "transfer_fixture.hpp"

namespace grainscope::transfer {
namespace {

// A lane that is there and does not do its work.
class IdleLane final : public Lane {
 public:
  explicit IdleLane(std::unique_ptr<Lane> real)
      : Lane(real->gpu(), real->node(), real->bytes()), real_(std::move(real)) {}
  void prepare() override { real_->prepare(); }
  void issue(const cuda::Stream& /*stream*/) override {}
  void check_sample() override { real_->check_sample(); }
  std::string verify() override { return real_->verify(); }
  [[nodiscard]] Conduct conduct() const override { return real_->conduct(); }
  [[nodiscard]] std::string action() const override { return "nothing"; }

 private:
  std::unique_ptr<Lane> real_;
};

// A lane that counts how often it is issued.
class CountedLane final : public Lane {
 public:
  CountedLane(std::unique_ptr<Lane> real, int& issued)
      : Lane(real->gpu(), real->node(), real->bytes()), real_(std::move(real)), issued_(issued) {}
  void prepare() override { real_->prepare(); }
  void issue(const cuda::Stream& stream) override {
    ++issued_;
    real_->issue(stream);
  }
  std::string verify() override { return real_->verify(); }
  [[nodiscard]] Conduct conduct() const override { return real_->conduct(); }
  [[nodiscard]] bool launches_kernels() const override { return real_->launches_kernels(); }
  [[nodiscard]] std::string action() const override { return real_->action(); }

 private:
  std::unique_ptr<Lane> real_;
  int& issued_;
};

class Lanes : public TransferTest {
 protected:
  [[nodiscard]] static bool has_peers() {
    return runtime().devices.size() > 1 && !runtime().peers.empty() && runtime().peers.front().access;
  }

  [[nodiscard]] std::unique_ptr<Mover> together(const std::vector<Transfer>& transfers) {
    std::vector<MoverLane> lanes;
    for (const Transfer& transfer : transfers) {
      lanes.push_back({make_lane(transfer, surroundings())});
    }
    return std::make_unique<Mover>(std::move(lanes), surroundings());
  }

  // Whichever of the two does nothing.
  void expect_idle_is_caught(const Transfer& there, const Transfer& back) {
    for (const int broken : {0, 1}) {
      std::vector<MoverLane> lanes;
      for (const int i : {0, 1}) {
        auto lane = make_lane(i == 0 ? there : back, surroundings());
        if (i == broken) {
          lane = std::make_unique<IdleLane>(std::move(lane));
        }
        lanes.push_back({std::move(lane)});
      }
      Mover mover(std::move(lanes), surroundings());
      mover.prepare();
      const auto run_and_verify = [&] {
        static_cast<void>(mover.run());
        static_cast<void>(mover.verify());
      };
      EXPECT_THROW(run_and_verify(), FailedError) << "lane " << broken;
    }
  }
};

TEST_F(Lanes, go_both_ways_by_every_method) {
  for (const auto& [engine, host, gpu] :
       {std::tuple{Engine::copy_engine, Placement::pinned, Placement::device},
        std::tuple{Engine::copy_engine, Placement::pageable, Placement::device},
        std::tuple{Engine::sm, Placement::pinned, Placement::device},
        std::tuple{Engine::sm, Placement::mapped, Placement::registers},
        std::tuple{Engine::fault, Placement::managed, Placement::managed},
        std::tuple{Engine::prefetch, Placement::managed, Placement::managed}}) {
    SCOPED_TRACE(name(host));
    const auto mover = together({one_way(engine, host, gpu, true), one_way(engine, host, gpu, false)});
    expect_moves(*mover);
  }
}

// For a profiler, which counts kernels.
TEST_F(Lanes, are_issued_once_more_to_be_counted_where_they_launch_kernels) {
  for (const auto& [engine, host, gpu, to_gpu, kernels] :
       {std::tuple{Engine::copy_engine, Placement::pinned, Placement::device, true, 0},
        std::tuple{Engine::copy_engine, Placement::pageable, Placement::device, false, 0},
        std::tuple{Engine::sm, Placement::pinned, Placement::device, true, 1},
        std::tuple{Engine::sm, Placement::mapped, Placement::registers, true, 1},
        std::tuple{Engine::fault, Placement::managed, Placement::managed, true, 1},
        std::tuple{Engine::fault, Placement::managed, Placement::managed, false, 0},
        std::tuple{Engine::prefetch, Placement::managed, Placement::managed, true, 0}}) {
    SCOPED_TRACE(std::string(name(engine)) + " " + name(host));
    int issued = 0;
    std::vector<MoverLane> lanes;
    lanes.push_back({std::make_unique<CountedLane>(
        make_lane(one_way(engine, host, gpu, to_gpu), surroundings()), issued)});
    Mover mover(std::move(lanes), surroundings());
    mover.prepare();
    EXPECT_GT(mover.run(), 0);
    EXPECT_EQ(issued, 1);
    mover.prepare();
    mover.run_counted();
    EXPECT_EQ(issued, 1 + kernels);
    EXPECT_FALSE(mover.verify().empty());
  }
}

// Comm|Scope's duplex zero-copy read loads nothing, its duplex peer copy moves gpu1 to gpu1.
TEST_F(Lanes, a_direction_that_moved_nothing_is_caught) {
  for (const auto& [engine, host, gpu] :
       {std::tuple{Engine::copy_engine, Placement::pinned, Placement::device},
        std::tuple{Engine::copy_engine, Placement::pageable, Placement::device},
        std::tuple{Engine::sm, Placement::pinned, Placement::device},
        std::tuple{Engine::sm, Placement::mapped, Placement::registers},
        std::tuple{Engine::fault, Placement::managed, Placement::managed},
        std::tuple{Engine::prefetch, Placement::managed, Placement::managed}}) {
    SCOPED_TRACE(name(host));
    expect_idle_is_caught(one_way(engine, host, gpu, true), one_way(engine, host, gpu, false));
  }
}

TEST_F(Lanes, a_direction_between_two_gpus_that_moved_nothing_is_caught) {
  if (!has_peers()) {
    GTEST_SKIP() << "two GPUs that reach each other are not here";
  }
  for (const auto& [engine, placement, access] : {std::tuple{Engine::copy_engine, Placement::device, true},
                                                  std::tuple{Engine::copy_engine, Placement::device, false},
                                                  std::tuple{Engine::sm, Placement::device, true},
                                                  std::tuple{Engine::prefetch, Placement::managed, true}}) {
    SCOPED_TRACE(testing::Message() << name(placement) << (access ? "" : ", no peer access"));
    Transfer there = one_way(engine, Placement::pinned, Placement::device, true);
    there.source = Endpoint::gpu(placement, 0);
    there.destination = Endpoint::gpu(placement, 1);
    there.staging_node = node();
    there.peer_access = access;
    Transfer back = there;
    std::swap(back.source, back.destination);
    expect_idle_is_caught(there, back);
  }
}

// Comm|Scope's duplex prefetch takes the stop event before the second prefetch.
TEST_F(Lanes, both_directions_end_before_the_clock_stops) {
  for (const auto& [engine, host, gpu] :
       {std::tuple{Engine::copy_engine, Placement::pinned, Placement::device},
        std::tuple{Engine::prefetch, Placement::managed, Placement::managed}}) {
    for (const std::size_t large : {0U, 1U}) {  // a lane that the clock forgets may be either
      SCOPED_TRACE(testing::Message() << name(host) << ", lane " << large << " is the large one");
      const auto mover = together({one_way(engine, host, gpu, true, large == 0 ? 64 * kMiB : kMiB),
                                   one_way(engine, host, gpu, false, large == 1 ? 64 * kMiB : kMiB)});
      const auto timed = [&](const auto& run) {
        mover->prepare();
        return run();
      };
      static_cast<void>(timed([&] { return mover->run(); }));
      double alone_s = timed([&] { return mover->run_alone(large); });
      for (int i = 0; i < 5; ++i) {
        alone_s = std::min(alone_s, timed([&] { return mover->run_alone(large); }));
        const double both_s = timed([&] { return mover->run(); });
        // The small one ends long before the large one: a clock that stopped with it would show a tenth.
        EXPECT_GT(both_s, alone_s / 2);
        for (const Span& span : mover->spans()) {
          EXPECT_GE(both_s, span.length_s() * 0.999);
        }
      }
    }
  }
}

TEST_F(Lanes, a_background_lane_outlasts_what_is_measured_and_does_not_count) {
  std::vector<MoverLane> lanes;
  lanes.push_back({make_lane(
      one_way(Engine::copy_engine, Placement::pinned, Placement::device, true, 16 * kMiB), surroundings())});
  lanes.push_back(
      {make_lane(one_way(Engine::copy_engine, Placement::pinned, Placement::device, false, 16 * kMiB),
                 surroundings()),
       true, 4});
  Mover mover(std::move(lanes), surroundings());
  static_cast<void>(mover.run());
  const double measured_s = mover.run();
  EXPECT_NEAR(measured_s, mover.spans()[0].length_s(), 1e-9);
  EXPECT_GT(mover.spans()[1].length_s(), measured_s);
  EXPECT_FALSE(mover.verify().empty());
}

TEST_F(Lanes, a_computing_lane_takes_about_the_time_asked_for_and_is_checked) {
  std::vector<MoverLane> lanes;
  lanes.push_back({make_computing_lane(0, node(), 0.01, surroundings())});
  Mover mover(std::move(lanes), surroundings());
  EXPECT_THROW(static_cast<void>(mover.verify()), FailedError);
  static_cast<void>(mover.run());
  const double seconds = mover.run();
  EXPECT_GT(seconds, 0.003);
  EXPECT_LT(seconds, 0.04);
  EXPECT_FALSE(mover.verify().empty());
}

TEST_F(Lanes, kernels_copy_any_number_of_words_either_way_and_within_a_card) {
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{20}, kMiB + 12, 8 * kMiB}) {
    for (const bool to_gpu : {true, false}) {
      expect_moves(*together({one_way(Engine::sm, Placement::pinned, Placement::device, to_gpu, bytes)}));
    }
    Transfer local = one_way(Engine::sm, Placement::pinned, Placement::device, true, bytes);
    local.source = Endpoint::gpu(Placement::device, 0);
    local.staging_node = node();
    expect_moves(*together({local}));
    local.engine = Engine::copy_engine;
    expect_moves(*together({local}));
  }
}

TEST_F(Lanes, kernels_copy_any_number_of_words_in_bulk_by_any_grid) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  // Fewer bytes than a unit or a chunk, tails of both, more stages than chunks, several turns of each stage.
  for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{16}, std::uint64_t{20}, 6 * kKiB - 4,
                                    6 * kKiB + 4, kMiB + 12, kMiB + 128}) {
    for (const std::uint64_t chunk : {std::uint64_t{128}, kUsualChunkBytes}) {
      for (const int stages : {1, 3, 32}) {
        for (const int blocks : {0, 1}) {
          SCOPED_TRACE(std::to_string(bytes) + " bytes, chunks of " + std::to_string(chunk) + ", " +
                       std::to_string(stages) + " stages, " + std::to_string(blocks) + " blocks");
          for (const bool to_gpu : {true, false}) {
            Transfer copy = one_way(Engine::sm, Placement::pinned, Placement::device, to_gpu, bytes);
            copy.walk.load = Load::bulk;
            copy.walk.chunk_bytes = chunk;
            copy.walk.stages = stages;
            copy.walk.blocks = blocks;
            expect_moves(*together({copy}));
          }
        }
      }
    }
  }
}

TEST_F(Lanes, walks_in_bulk_read_and_write_all) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  for (const std::uint64_t bytes : {std::uint64_t{128}, 6 * kKiB + 128, kMiB}) {
    for (const int stages : {1, 3, 32}) {
      for (const int blocks : {0, 1}) {
        for (const bool read : {true, false}) {
          Transfer walk = one_way(Engine::sm, Placement::mapped, Placement::registers, read, bytes);
          walk.walk.width_bytes = 16;
          walk.walk.load = Load::bulk;
          walk.walk.stages = stages;
          walk.walk.blocks = blocks;
          expect_moves(*together({walk}));
        }
      }
    }
  }
}

TEST_F(Lanes, a_bulk_copy_beside_another_and_beside_a_computation_moves_all) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  Transfer in = one_way(Engine::sm, Placement::pinned, Placement::device, true, kMiB);
  Transfer out = one_way(Engine::sm, Placement::pinned, Placement::device, false, kMiB);
  in.walk.load = out.walk.load = Load::bulk;
  in.walk.kernels = out.walk.kernels = 2;
  expect_moves(*together({in, out}));
  std::vector<MoverLane> lanes;
  lanes.push_back({make_lane(in, surroundings())});
  lanes.push_back({make_computing_lane(0, node(), 0.01, surroundings(), true), true});
  Mover mover(std::move(lanes), surroundings());
  const double seconds = mover.run();
  EXPECT_LT(seconds, 0.005) << "the copy waited for the computation";
  EXPECT_FALSE(mover.verify().empty());
}

TEST_F(Lanes, a_block_with_more_shared_memory_than_there_is_is_skipped_with_the_numbers) {
  if (!has_bulk()) {
    GTEST_SKIP() << "needs a GPU with bulk copies";
  }
  Transfer copy = one_way(Engine::sm, Placement::pinned, Placement::device, true, kMiB);
  copy.walk.load = Load::bulk;
  copy.walk.chunk_bytes = 64 * kKiB;
  EXPECT_THROW(static_cast<void>(make_lane(copy, surroundings())), SkipError);
}

TEST_F(Lanes, scattered_walks_read_and_write_every_piece) {
  for (const std::uint64_t piece : {std::uint64_t{32}, std::uint64_t{128}, 64 * kKiB, kMiB}) {
    for (const bool read : {true, false}) {
      Transfer walk = one_way(Engine::sm, Placement::mapped, Placement::registers, read, kMiB);
      walk.walk.pattern = Walk::Pattern::scattered;
      walk.walk.width_bytes = 16;
      walk.walk.piece_bytes = piece;
      expect_moves(*together({walk}));
    }
  }
}

TEST_F(Lanes, copies_and_prefetches_move_in_pieces) {
  for (const bool to_gpu : {true, false}) {
    Transfer copy = one_way(Engine::copy_engine, Placement::pinned, Placement::device, to_gpu, kMiB);
    copy.piece_bytes = 12 * kKiB;  // the last one is shorter
    expect_moves(*together({copy}));
    Transfer prefetch = one_way(Engine::prefetch, Placement::managed, Placement::managed, to_gpu, kMiB);
    prefetch.piece_bytes = 64 * kKiB;
    expect_moves(*together({prefetch}));
  }
}

TEST_F(Lanes, go_between_two_gpus_by_every_method_and_either_issuer) {
  if (!has_peers()) {
    GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  }
  for (const auto& [engine, here, there] :
       {std::tuple{Engine::copy_engine, Placement::device, Placement::device},
        std::tuple{Engine::sm, Placement::device, Placement::device},
        std::tuple{Engine::sm, Placement::registers, Placement::device},
        std::tuple{Engine::fault, Placement::managed, Placement::managed},
        std::tuple{Engine::prefetch, Placement::managed, Placement::managed}}) {
    for (const bool read : {true, false}) {
      if (here == Placement::managed && !read) {
        continue;
      }
      Transfer transfer;
      transfer.engine = engine;
      transfer.source = Endpoint::gpu(there, 1);
      transfer.destination = Endpoint::gpu(here, 0);
      transfer.by_source = !read;
      if (!read) {
        std::swap(transfer.source, transfer.destination);
      }
      transfer.bytes = 8 * kMiB;
      transfer.staging_node = node();
      SCOPED_TRACE(std::string(name(here)) + (read ? " read" : " write"));
      expect_moves(*together({transfer}));
    }
  }
  Transfer staged;
  staged.source = Endpoint::gpu(Placement::device, 0);
  staged.destination = Endpoint::gpu(Placement::device, 1);
  staged.bytes = 8 * kMiB;
  staged.peer_access = false;
  staged.staging_node = node();
  expect_moves(*together({staged}));
}

// The trap that caught us: the source's kernel touches pages that are its own already.
TEST_F(Lanes, managed_pages_that_stay_at_their_source_gpu_are_caught) {
  if (!has_peers()) {
    GTEST_SKIP() << "needs two GPUs that reach each other's memory";
  }
  Transfer transfer;
  transfer.engine = Engine::fault;
  transfer.source = Endpoint::gpu(Placement::managed, 1);
  transfer.destination = Endpoint::gpu(Placement::managed, 0);
  transfer.bytes = 4 * kMiB;
  transfer.staging_node = node();
  const auto lane = make_lane(transfer, surroundings());
  const cuda::DeviceGuard guard(0);
  lane->prepare();
  EXPECT_THROW(lane->check_sample(), FailedError);
}

}  // namespace
}  // namespace grainscope::transfer

// Every case of the families of several transfers at once, as the suite would run it.

namespace grainscope::harness {
namespace {

class TogetherFamilies : public FamilyTest {
 protected:
  // Runs every case that can run here.
  void expect_all_to_measure(const Family& family) {
    for (const Benchmark& benchmark : listed(family, Preset::smoke)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark);
      if (!measurement) {
        continue;
      }
      ++measured_;
      EXPECT_EQ(why_impossible(*measurement), "");
      expect_lanes(*measurement);
      const bool both_ways = benchmark.id.name().find("duplex") != std::string::npos;
      EXPECT_TRUE(!both_ways || goes_both_ways(*measurement));
    }
  }

  // Each lane moved its bytes in its own time, within that of all.
  static void expect_lanes(const Measurement& measurement) {
    EXPECT_TRUE(measurement.lanes.size() == 1 ||
                measurement.verification.find("every lane") != std::string::npos)
        << measurement.verification;
    std::uint64_t bytes = 0;
    for (const LaneResult& lane : measurement.lanes) {
      EXPECT_NE(lane.from, lane.to) << lane.name;
      EXPECT_GT(lane.bytes, 0U) << lane.name;
      ASSERT_EQ(lane.seconds.size(), measurement.samples.seconds.size()) << lane.name;
      for (std::size_t i = 0; i < lane.seconds.size(); ++i) {
        EXPECT_GT(lane.seconds[i], 0) << lane.name;
        EXPECT_LE(lane.seconds[i], measurement.samples.seconds[i] * 1.001) << lane.name;
      }
      bytes += lane.bytes;
    }
    EXPECT_EQ(bytes, measurement.bytes);
    EXPECT_GE(measurement.overlap.value_or(-1), 0);
  }

  // For every lane there is one the other way.
  static bool goes_both_ways(const Measurement& measurement) {
    std::multiset<std::pair<std::string, std::string>> there;
    std::multiset<std::pair<std::string, std::string>> back;
    for (const LaneResult& lane : measurement.lanes) {
      there.insert({lane.from, lane.to});
      back.insert({lane.to, lane.from});
    }
    return there == back;
  }

  std::size_t measured_ = 0;
};

TEST_F(TogetherFamilies, every_duplex_case_measures_both_ways) {
  expect_all_to_measure(transfer_duplex());
  EXPECT_GT(measured_, 0U);
}

// Kernels that each filled the GPU would run one after the other: the partner would keep nothing.
TEST_F(TogetherFamilies, partners_of_a_copy_run_beside_it) {
  for (const Benchmark& benchmark : listed(contention(), Preset::quick)) {
    SCOPED_TRACE(benchmark.id.name());
    if (benchmark.id.name().find("/beside_") == std::string::npos) {
      continue;
    }
    const auto measurement = run(benchmark);
    if (!measurement) {
      continue;
    }
    ++measured_;
    ASSERT_TRUE(measurement->counters.contains("partner_kept"));
    EXPECT_GT(measurement->counters.at("partner_kept"), 0.25);
    EXPECT_LT(measurement->counters.at("partner_kept"), 1.2);
  }
  EXPECT_GT(measured_, 0U);
}

TEST_F(TogetherFamilies, every_collective_case_measures_every_lane) {
  expect_all_to_measure(transfer_collective());
  if (measured_ == 0) {
    GTEST_SKIP() << "needs two GPUs";
  }
}

}  // namespace
}  // namespace grainscope::harness
