#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "case_runner.hpp"
#include "context.hpp"
#include "google_benchmark.hpp"
#include "gpu_lock.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "interrupt.hpp"
#include "link_peaks.hpp"
#include "progress.hpp"
#include "reporter.hpp"
#include "row.hpp"

namespace grainscope::harness {
namespace {

using nlohmann::json;

std::vector<std::string> gpus_used(const Machine& machine, const std::vector<Benchmark>& benchmarks) {
  std::map<int, std::string> uuids;
  for (const Benchmark& benchmark : benchmarks) {
    for (const Site& site : benchmark.id.site) {
      const GpuReport* gpu = is_gpu(site) ? machine.find_gpu(static_cast<int>(site.value)) : nullptr;
      if (gpu != nullptr) {
        uuids[static_cast<int>(site.value)] = gpu->cuda->uuid;
      }
    }
  }
  std::vector<std::string> list;
  list.reserve(uuids.size());
  for (const auto& [ordinal, uuid] : uuids) {
    list.push_back(uuid);
  }
  return list;
}

class Suite {
 public:
  explicit Suite(RunRequest& request)
      : request_(request),
        options_(request.options),
        peaks_(request.machine, [this](const LinkPeak& peak,
                                       const std::vector<Warning>& warnings) { note_link(peak, warnings); }),
        progress_(request.selection.runnable.size()),
        runner_(request.machine, request.scope.sampling, peaks_, options_.allow_managed_oversubscription,
                {.starting = [this](const std::string& name) { progress_.start_case(name); },
                 .why_stop = [this] { return why_stop(); }}),
        identity_(request.resumed != nullptr ? identity_of(request.resumed->header) : new_identity()) {}

  int run() {
    note_versions();
    take_over_finished();
    note_skipped();
    const GpuLock lock(gpus_used(request_.machine, request_.selection.runnable), options_.wait_for_gpu,
                       [] { return signal_received() != 0; });
    initialise_library(options_.library_flags);
    SuiteReporter reporter(options_, longest_name(), hooks());
    register_all();
    if (request_.selection.runnable.empty()) {
      benchmark::BenchmarkReporter::Context context;
      reporter.ReportContext(context);
      reporter.Finalize();
    } else {
      benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
    }
    progress_.wipe();
    finish(reporter.context());
    reporter.save();
    return exit_status();
  }

 private:
  // Of what each family measures; of the whole run, also where it goes on.
  void note_versions() {
    for (const auto* benchmarks : {&request_.selection.runnable, &request_.selection.skipped}) {
      for (const Benchmark& benchmark : *benchmarks) {
        versions_[benchmark.id.family] = benchmark.version;
      }
    }
  }

  // Everything that an earlier part of this run finished is a result of this one.
  void take_over_finished() {
    if (request_.resumed == nullptr) {
      return;
    }
    for (const json& row : request_.resumed->rows) {
      keep(row);
      earlier_s_ += row.value("session_s", 0.0);
    }
    for (const json& link : request_.resumed->links) {
      peaks_.add(link_from_json(link));
    }
    const std::set<std::string> done = request_.resumed->finished();
    const auto is_done = [&](const Benchmark& benchmark) { return done.contains(benchmark.id.name()); };
    std::erase_if(request_.selection.runnable, is_done);
    std::erase_if(request_.selection.skipped, is_done);
  }

  void note_skipped() {
    json rows = json::array();
    std::map<std::pair<std::string, std::string>, int> reasons;
    for (const Benchmark& benchmark : request_.selection.skipped) {
      rows.push_back(outcome_row(benchmark.id, Status::skipped, benchmark.skip));
      keep(rows.back());
      ++reasons[{benchmark.id.family, benchmark.skip}];
    }
    for (const auto& [what, count] : reasons) {
      std::cerr << "grainscope: " << what.first << ": " << count << " cases skipped: " << what.second << '\n';
    }
    if (!rows.empty() && request_.store != nullptr) {
      request_.store->append_rows(rows);
    }
  }

  void register_all() {
    for (const Benchmark& benchmark : request_.selection.runnable) {
      register_case(benchmark.id.name(), request_.scope.repetitions, options_.library_flags,
                    [this, &benchmark](auto& state) { runner_.run_session(benchmark, state); });
    }
  }

  [[nodiscard]] std::string why_stop() const {
    if (!store_error_.empty()) {
      return store_error_;
    }
    if (options_.max_time_s && steady_now_s() - start_s_ > *options_.max_time_s) {
      return "--max-time of " + format_seconds(*options_.max_time_s) + " reached";
    }
    return {};
  }

  SuiteReporter::Hooks hooks() {
    return {.take_recorded = [this](const std::string& name) { return runner_.take_rows(name); },
            .finished =
                [this](const std::vector<json>& rows) {
                  for (const json& row : rows) {
                    keep(row);
                  }
                  progress_.finish_case();
                  to_store([&](ResultStore& store) { store.append_rows(rows); });
                },
            .before_output = [this] { progress_.wipe(); },
            .after_output = [this] { progress_.draw(); }};
  }

  void note_link(const LinkPeak& peak, const std::vector<Warning>& warnings) {
    to_store([&](ResultStore& store) { store.append_link(link_json(peak)); });
    for (const Warning& warning : warnings) {
      progress_.wipe();
      std::cerr << "grainscope: " << severity_name(warning.severity) << ": " << warning.finding << '\n';
      request_.machine.warnings.push_back(warning);
    }
  }

  // A full disk must not be met inside Google Benchmark, which no exception may cross: it ends the run.
  template <class Write>
  void to_store(Write write) {
    if (request_.store == nullptr || !store_error_.empty()) {
      return;
    }
    try {
      write(*request_.store);
    } catch (const Error& error) {
      store_error_ = error.what();
    }
  }

  void keep(const json& row) {
    rows_.push_back(row);
    const std::string status = row.at("status");
    ++(status == "ok" ? outcome_.ok : status == "skipped" ? outcome_.skipped : outcome_.failed);
  }

  [[nodiscard]] std::size_t longest_name() const {
    std::size_t longest = 0;
    for (const Benchmark& benchmark : request_.selection.runnable) {
      longest = std::max(longest, benchmark.id.name().size());
    }
    return longest;
  }

  void finish(const json& library_context) {
    outcome_.why_incomplete = runner_.why_incomplete();
    outcome_.complete = outcome_.why_incomplete.empty();
    if (!store_error_.empty()) {
      throw EnvironmentError(store_error_);
    }
    const double wall_s = steady_now_s() - start_s_;
    if (request_.store != nullptr) {
      json context = result_context(library_context, identity_, options_, request_.scope.sampling.ci_target,
                                    request_.machine, peaks_.all(), outcome_, earlier_s_ + wall_s);
      context["family_versions"] = versions_;
      request_.store->finish({{"context", context}, {"benchmarks", rows_}});
    }
    std::cerr << "grainscope: " << outcome_.ok << " ok, " << outcome_.skipped << " skipped, "
              << outcome_.failed << " failed in " << format_seconds(wall_s);
    if (request_.store == nullptr) {
      std::cerr << "; nothing was kept (--out DIR keeps it)\n";
      if (!outcome_.complete) {
        std::cerr << "grainscope: " << outcome_.why_incomplete << '\n';
      }
      return;
    }
    const std::string directory = request_.store->directory().string();
    std::cerr << "; " << directory << "/result.json\n";
    if (!outcome_.complete) {
      std::cerr << "grainscope: " << outcome_.why_incomplete << "; go on with --resume " << directory << '\n';
    }
  }

  [[nodiscard]] int exit_status() const {
    if (signal_received() != 0) {
      return 128 + signal_received();
    }
    return static_cast<int>(outcome_.failed > 0 ? ExitStatus::failed : ExitStatus::ok);
  }

  RunRequest& request_;
  const Options& options_;
  const double start_s_ = steady_now_s();
  double earlier_s_ = 0;  // of sessions in earlier parts of this run
  LinkPeaks peaks_;
  Progress progress_;
  CaseRunner runner_;
  RunIdentity identity_;
  std::map<std::string, int> versions_;
  std::vector<json> rows_;
  Outcome outcome_;
  std::string store_error_;
};

}  // namespace

int run_suite(RunRequest request) {
  Suite suite(request);
  return suite.run();
}

}  // namespace grainscope::harness
