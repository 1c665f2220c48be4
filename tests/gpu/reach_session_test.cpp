#include <memory>

#include "claim_cache.hpp"
#include "families.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

class ReachSessions : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
      key_.home = machine_->topology.usable_nodes().front();
    }
  }

  std::unique_ptr<Machine> machine_;
  SpanKey key_;
  cuda::ManagedBudget managed_;
};

TEST_F(ReachSessions, every_case_of_the_smoke_preset_is_measured_or_skipped_with_a_reason) {
  const Scope scope =
      make_scope(Preset::smoke, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  std::size_t measured = 0;
  for (const Benchmark& benchmark : list_all({reach_gather()}, *machine_, scope)) {
    SCOPED_TRACE(benchmark.id.name());
    if (!benchmark.skip.empty()) {
      continue;
    }
    Session session(*machine_, scope.sampling, peaks, &managed_, [] { return false; });
    try {
      const Measurement measurement = benchmark.run(session);
      EXPECT_EQ(why_impossible(measurement), "");
      EXPECT_GT(*measurement.link_bytes_least, 0U);
      EXPECT_LE(*measurement.link_bytes_least, measurement.bytes);
      EXPECT_EQ(measurement.counters.at("unique_bytes"), static_cast<double>(*measurement.link_bytes_least));
      EXPECT_EQ(measurement.counters.at("link_gb_s"), measurement.counters.at("unique_gb_s"));
      const bool on_host = to_string(benchmark.id.axis("memory")) != "peer";
      EXPECT_EQ(measurement.traffic.has_value(), on_host);
      if (on_host) {
        EXPECT_GE(measurement.traffic->bytes, *measurement.link_bytes_least / 2)
            << "of the first of four lists";
      }
      // Every row is asked for twice over this span, 1 Mi rows of 64 MiB: about 1 - 1/e² of them at least
      // once.
      if (std::get<std::int64_t>(benchmark.id.axis("row")) == 128) {
        EXPECT_NEAR(measurement.counters.at("unique_rows"), 0.8647 * 524288, 2000);
        EXPECT_EQ(measurement.counters.at("rows_per_granule"), 1024);
      }
      ++measured;
    } catch (const SkipError& skip) {
      EXPECT_FALSE(std::string(skip.what()).empty());
    } catch (const EnvironmentError& missing) {
      EXPECT_FALSE(std::string(missing.what()).empty());
    }
  }
  EXPECT_GE(measured, 4U);
}

TEST_F(ReachSessions, shared_memory_grows_and_goes_with_the_last_case_that_needs_it) {
  SpanCache cache;
  const auto small = cache.claim(key_, 2, kMiB);
  const auto large = cache.claim(key_, 1, 8 * kMiB);
  for (int session = 0; session < 2; ++session) {
    const SpanLease lease(cache, *small, machine_->topology);
    EXPECT_GE(lease.memory().bytes(), kMiB);
  }
  EXPECT_TRUE(cache.holds());
  {
    const SpanLease lease(cache, *large, machine_->topology);
    EXPECT_EQ(lease.memory().bytes(), 8 * kMiB);
  }
  EXPECT_FALSE(cache.holds());
}

TEST_F(ReachSessions, shared_memory_of_another_kind_takes_the_place_of_the_first) {
  SpanCache cache;
  const auto first = cache.claim(key_, 2, kMiB);
  SpanKey other = key_;
  other.kind = reach::SpanKind::registered;
  const auto second = cache.claim(other, 1, 2 * kMiB);
  { const SpanLease lease(cache, *first, machine_->topology); }
  EXPECT_TRUE(cache.holds());
  {
    const SpanLease lease(cache, *second, machine_->topology);
    EXPECT_EQ(lease.memory().bytes(), 2 * kMiB);
    EXPECT_EQ(lease.memory().request().kind, reach::SpanKind::registered);
  }
  EXPECT_FALSE(cache.holds());
}

TEST_F(ReachSessions, a_session_that_gets_no_memory_counts_as_one_that_was) {
  SpanCache cache;
  // Chunks larger than any memory: skipped before anything is taken.
  const auto claim = cache.claim(key_, 1, std::uint64_t{1} << 60);
  EXPECT_THROW(SpanLease(cache, *claim, machine_->topology), SkipError);
  EXPECT_EQ(claim->sessions_left, 0);
  EXPECT_FALSE(cache.holds());
}

}  // namespace
}  // namespace grainscope::harness
