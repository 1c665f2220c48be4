#include "harness/benchmark.hpp"

#include "gpu_fixture.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "harness/link_peaks.hpp"
#include "transfer/case.hpp"

namespace grainscope::harness {
namespace {

class Sessions : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
    }
  }

  [[nodiscard]] transfer::Transfer pinned_copy(std::uint64_t bytes) const {
    transfer::Transfer copy;
    copy.source =
        transfer::Endpoint::host(transfer::Placement::pinned, machine_->topology.usable_nodes().front());
    copy.destination = transfer::Endpoint::gpu(transfer::Placement::device, 0);
    copy.bytes = bytes;
    return copy;
  }

  std::unique_ptr<Machine> machine_;
  cuda::ManagedBudget managed_;
};

TEST_F(Sessions, the_copy_peak_lies_below_the_link_and_is_measured_once) {
  int found = 0;
  LinkPeaks peaks(*machine_, [&](const LinkPeak&, const std::vector<Warning>&) { ++found; });
  const int node = machine_->topology.usable_nodes().front();
  const double peak = peaks.get(LinkPath::host_to_gpu(node, 0)).peak_gb_s;
  EXPECT_GT(peak, 0);
  if (const auto limit = host_link_limit(*machine_, 0)) {
    EXPECT_LT(peak, limit->gb_s);
  }
  EXPECT_EQ(peaks.get(LinkPath::host_to_gpu(node, 0)).peak_gb_s, peak);
  EXPECT_EQ(found, 1);
}

TEST_F(Sessions, a_measured_copy_is_verified_bounded_and_possible) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(*machine_, {.budget_s = 0.1}, peaks, &managed_, [] { return false; });
  const Measurement measurement = measure_transfer(session, pinned_copy(16 * kMiB));
  EXPECT_EQ(why_impossible(measurement), "");
  EXPECT_EQ(measurement.bytes, 16 * kMiB);
  EXPECT_TRUE(measurement.link_peak_gb_s.has_value());
  EXPECT_FALSE(measurement.verification.empty());
}

TEST_F(Sessions, a_planted_speed_above_the_link_is_called_impossible) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  Session session(*machine_, {.budget_s = 0.1}, peaks, &managed_, [] { return false; });
  Measurement measurement = measure_transfer(session, pinned_copy(16 * kMiB));
  if (!measurement.limit) {
    GTEST_SKIP() << "this machine does not tell its link";
  }
  measurement.bytes *= 2;
  EXPECT_TRUE(why_impossible(measurement).starts_with("impossible"));
}

TEST_F(Sessions, an_interrupted_session_throws_and_leaves_the_gpu_usable) {
  LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
  int calls = 0;
  Session interrupted(*machine_, {.budget_s = 1}, peaks, &managed_, [&] { return ++calls > 5; });
  EXPECT_THROW(static_cast<void>(measure_transfer(interrupted, pinned_copy(kMiB))), Interrupted);
  Session next(*machine_, {.budget_s = 0.05}, peaks, &managed_, [] { return false; });
  EXPECT_EQ(why_impossible(measure_transfer(next, pinned_copy(kMiB))), "");
}

}  // namespace
}  // namespace grainscope::harness
