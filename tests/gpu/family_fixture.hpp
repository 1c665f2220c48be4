#ifndef GRAINSCOPE_TESTS_GPU_FAMILY_FIXTURE_HPP
#define GRAINSCOPE_TESTS_GPU_FAMILY_FIXTURE_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families.hpp"
#include "gpu_fixture.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/mps.hpp"
#include "harness/link_peaks.hpp"
#include "harness/selection.hpp"

// Runs the cases of a family as the suite would, in short sessions.

namespace grainscope::harness {

class FamilyTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) {
      machine_ = std::make_unique<Machine>(read_machine());
    }
  }

  // Runs a benchmark's body in a short session; empty where it was skipped.
  std::optional<Measurement> run(const Benchmark& benchmark) {
    if (!benchmark.skip.empty()) {
      return std::nullopt;
    }
    LinkPeaks peaks(*machine_, [](const LinkPeak&, const std::vector<Warning>&) {});
    Session session(*machine_, {.ci_target = 0.1, .budget_s = 0.02, .warmups = 1}, peaks, &managed_,
                    [] { return false; });
    try {
      return benchmark.run(session);
    } catch (const SkipError&) {
      return std::nullopt;
    } catch (const EnvironmentError&) {
      return std::nullopt;
    }
  }

  // Runs all that can run, holds each to what is possible and to `check`; how many there were.
  template <class Check>
  std::size_t measure_all(const std::vector<Benchmark>& benchmarks, const Check& check) {
    std::size_t measured = 0;
    for (const Benchmark& benchmark : benchmarks) {
      SCOPED_TRACE(benchmark.id.name());
      if (const auto measurement = run(benchmark)) {
        ++measured;
        EXPECT_EQ(why_impossible(*measurement), "");
        EXPECT_TRUE(measurement->modelled || measurement->limit) << "no physical limit";
        check(*measurement);
      }
    }
    return measured;
  }

  [[nodiscard]] std::vector<Benchmark> listed(const Family& family, Preset preset) const {
    return list_all({family}, *machine_,
                    make_scope(preset, gpu_targets(*machine_, {}), false, node_targets(*machine_, {})));
  }

  // With values in place of the preset's.
  [[nodiscard]] std::vector<Benchmark> listed_with(
      const std::vector<std::pair<std::string, std::string>>& axes, const Family& family,
      Preset preset) const {
    Scope scope = make_scope(preset, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
    scope.axes = axes;
    return list_all({family}, *machine_, scope);
  }

  // A preset on another graph than its own.
  [[nodiscard]] std::vector<Benchmark> listed_on(const std::string& graph, const Family& family,
                                                 Preset preset = Preset::quick) const {
    Scope scope = make_scope(preset, gpu_targets(*machine_, {}), false, node_targets(*machine_, {}));
    scope.graphs = {graph::parse_graph_spec(graph)};
    return list_all({family}, *machine_, scope);
  }

  std::unique_ptr<Machine> machine_;
  cuda::ManagedBudget managed_;
};

// Tests of a fixture that has a machine, with a daemon of MPS of their own; skipped, with the reason, where
// none starts or its clients are none.
template <class Base>
class UnderMps : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (Base::IsSkipped()) {
      return;
    }
    request_.gpu = Base::machine_->find_gpu(0)->cuda->uuid;
    all_ = Base::machine_->find_gpu(0)->cuda->sm_count;
    try {
      daemon_ = std::make_unique<MpsDaemon>(request_);
      // A client that finds no daemon works all the same, with all of the GPU.
      if (sms_of_a_tenth() >= all_) {
        GTEST_SKIP() << "processes are no clients of MPS here";
      }
    } catch (const std::exception& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // What a client sees that was given a tenth of the multiprocessors.
  [[nodiscard]] virtual int sms_of_a_tenth() = 0;

  MpsRequest request_;
  std::unique_ptr<MpsDaemon> daemon_;
  int all_ = 0;
};

}  // namespace grainscope::harness

#endif
