// Pieces of managed memory on demand, and every method of grain/pieces as the suite would run it.

#include <memory>
#include <set>
#include <string>

#include "families.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/transfer/mover.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"

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
