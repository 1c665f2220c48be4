#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_GOOGLE_BENCHMARK_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_GOOGLE_BENCHMARK_HPP

// The only door to Google Benchmark: its flags, the cases as it runs them, and its reporters.

#include <benchmark/benchmark.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark.hpp"
#include "grainscope/cuda/budget.hpp"
#include "options.hpp"

namespace grainscope::harness {

// Hands flags on. Throws UsageError for one that the library at hand does not know.
void initialise_library(std::vector<std::string> flags);

// Why the library would end the program when it reads the sizes of caches below `root`/sys, and what to do;
// empty: it would not.
[[nodiscard]] std::string why_library_ends(const std::filesystem::path& root);

// Registers a case under its own name. `body` is called once for each of its repetitions; one iteration is
// one visit, whose time the body sets. Times are shown in microseconds unless `flags`, those of
// initialise_library, say otherwise.
void register_case(const std::string& name, int repetitions, const std::vector<std::string>& flags,
                   std::function<void(benchmark::State&)> body);

// Turns a visit to a case into a row, whatever becomes of it; and knows when nothing more is to be started.

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

  // Why a case was not run or not finished, and with which status the run ends.
  [[nodiscard]] const Ending& ending() const { return ending_; }

 private:
  [[nodiscard]] std::string why_not_start() const;
  void stop(const std::string& why, benchmark::State& state);
  void end(const Error& error);
  [[nodiscard]] nlohmann::json measured_row(const Benchmark& benchmark, Measurement& measurement);
  void hold_gpu_memory(const Benchmark& benchmark);

  const Machine& machine_;
  SamplingPlan plan_;
  LinkPeaks& peaks_;
  cuda::ManagedBudget managed_;
  cuda::PinnedReserve pinned_;
  std::map<int, std::shared_ptr<void>> held_;  // of each GPU, what --gpu-memory lets no case have
  QuietCpu quiet_;
  Hooks hooks_;
  Ending ending_;
  std::string lost_;  // the GPU or a rank and in which case, or what else there is to go on with
};

// How rows are shown in Google Benchmark's own formats.

// What Google Benchmark makes of a run.
struct LibraryReport {
  nlohmann::json context;
  std::vector<nlohmann::json> rows;  // one a case, with its fields
  std::string file_text;             // for --benchmark_out, where its format is json or csv
};

// Has Google Benchmark report the visits to each case as its repetitions: it adds its fields and aggregates,
// and writes its formats to standard output, as asked. `merge` then makes each case's visits one row.
using VisitsOfCases = std::vector<std::vector<nlohmann::json>>;
[[nodiscard]] LibraryReport report_by_library(
    const Options& options, VisitsOfCases cases,
    const std::function<std::vector<nlohmann::json>(const VisitsOfCases&)>& merge);

}  // namespace grainscope::harness

#endif
