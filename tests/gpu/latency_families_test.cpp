// Every case of the families of latencies and of calls, as the suite would run it.

#include <memory>
#include <optional>
#include <string>

#include "families.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/managed_budget.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"

namespace grainscope::harness {
namespace {

class LatencyFamilies : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
    }
  }

  // Runs a benchmark's body in a short session; empty where it was skipped.
  std::optional<Measurement> run(const Benchmark& benchmark, const SamplingPlan& plan) {
    if (!benchmark.skip.empty()) {
      return std::nullopt;
    }
    LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(*machine_, plan, peaks, &managed_, [] { return false; });
    try {
      return benchmark.run(session);
    } catch (const SkipError&) {
      return std::nullopt;
    } catch (const EnvironmentError&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::vector<Benchmark> listed(const Family& family, Preset preset) const {
    return list_all({family}, *machine_,
                    make_scope(preset, gpu_targets(*machine_, {}), false, node_targets(*machine_, {})));
  }

  void expect_all_to_measure(const Family& family, Preset preset) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : listed(family, preset)) {
      SCOPED_TRACE(benchmark.id.name());
      const auto measurement = run(benchmark, {.ci_target = 0.1, .budget_s = 0.02, .warmups = 1});
      if (measurement) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_GT(measurement->operations, 0U);
      }
    }
    EXPECT_GT(measured, 0U);
  }

  std::unique_ptr<Machine> machine_;
  cuda::ManagedBudget managed_;
};

TEST_F(LatencyFamilies, every_chase_measures) {
  expect_all_to_measure(latency_chase(), Preset::quick);
}

TEST_F(LatencyFamilies, every_flag_measures) {
  expect_all_to_measure(latency_flag(), Preset::quick);
}

TEST_F(LatencyFamilies, every_managed_touch_measures) {
  if (!runtime().devices[0].concurrent_managed_access) {
    GTEST_SKIP() << "managed memory does not migrate on demand here";
  }
  expect_all_to_measure(latency_managed_touch(), Preset::quick);
}

TEST_F(LatencyFamilies, every_call_measures) {
  expect_all_to_measure(call(), Preset::smoke);
}

TEST_F(LatencyFamilies, a_planted_load_faster_than_light_is_called_impossible) {
  for (const Benchmark& benchmark : listed(latency_chase(), Preset::smoke)) {
    auto measurement = run(benchmark, {.ci_target = 0.1, .budget_s = 0.02, .warmups = 1});
    if (measurement) {
      measurement->operations *= 1000;
      EXPECT_TRUE(why_impossible(*measurement).starts_with("impossible")) << benchmark.id.name();
    }
  }
}

}  // namespace
}  // namespace grainscope::harness
