#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_CASE_RUNNER_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_CASE_RUNNER_HPP

// Turns one benchmark into rows, one a session, whatever becomes of it; and knows when nothing more is to be
// started.

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "grainscope/cuda/managed_budget.hpp"

namespace grainscope::harness {

class CaseRunner {
 public:
  struct Hooks {
    // A session of this case begins.
    std::function<void(const std::string& name)> starting;
    // Why the run is to end, beside a signal and a lost GPU; empty while it goes on.
    std::function<std::string()> why_stop;
  };

  // Everything outlives the runner.
  CaseRunner(const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks,
             bool allow_managed_oversubscription, Hooks hooks);

  // One session of a case, called by Google Benchmark, which no exception may cross. Records a row unless
  // the run was stopped before or within it.
  void run_session(const Benchmark& benchmark, benchmark::State& state);

  // What the sessions of a case recorded; empties it.
  [[nodiscard]] std::vector<nlohmann::json> take_rows(const std::string& name);

  // Why a case was not run or not finished; empty where all were.
  [[nodiscard]] const std::string& why_incomplete() const { return why_incomplete_; }

 private:
  [[nodiscard]] std::string why_not_start(const std::string& name) const;
  void stop(const std::string& why, benchmark::State& state);
  [[nodiscard]] nlohmann::json session_row(const Benchmark& benchmark, Measurement& measurement);

  const Machine& machine_;
  SamplingPlan plan_;
  LinkPeaks& peaks_;
  cuda::ManagedBudget managed_;
  Hooks hooks_;
  std::map<std::string, std::vector<nlohmann::json>> rows_;
  std::string why_incomplete_;
  std::string gpu_lost_;  // in which case; empty: it is there
};

}  // namespace grainscope::harness

#endif
