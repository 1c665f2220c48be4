#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_CASE_RUNNER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_CASE_RUNNER_HPP

// Turns a visit to a case into a row, whatever becomes of it; and knows when nothing more is to be started.

#include <benchmark/benchmark.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "benchmark.hpp"
#include "grainscope/cuda/budget.hpp"

namespace grainscope::harness {

class CaseRunner {
 public:
  struct Hooks {
    // A visit to this case begins.
    std::function<void(const std::string& name)> starting;
    // Why the run is to end, beside a signal and a lost GPU; empty while it goes on.
    std::function<std::string()> why_stop;
  };

  // Everything outlives the runner.
  CaseRunner(const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks,
             bool allow_managed_oversubscription, Hooks hooks);

  // One visit to a case, called by Google Benchmark, which no exception may cross. Its row; null where the
  // run was stopped before or within it.
  [[nodiscard]] nlohmann::json visit(const Benchmark& benchmark, benchmark::State& state);

  // A round of visits begins: none of its buffers lies where one of an earlier round lay.
  void place_anew() { pinned_.clear(); }

  // Why a case was not run or not finished; empty where all were.
  [[nodiscard]] const std::string& why_incomplete() const { return why_incomplete_; }

 private:
  [[nodiscard]] std::string why_not_start() const;
  void stop(const std::string& why, benchmark::State& state);
  [[nodiscard]] nlohmann::json measured_row(const Benchmark& benchmark, Measurement& measurement);

  const Machine& machine_;
  SamplingPlan plan_;
  LinkPeaks& peaks_;
  cuda::ManagedBudget managed_;
  cuda::PinnedReserve pinned_;
  QuietCpu quiet_;
  Hooks hooks_;
  std::string why_incomplete_;
  std::string gpu_lost_;  // in which case; empty: it is there
};

}  // namespace grainscope::harness

#endif
