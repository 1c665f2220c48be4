#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <new>

#include "build_info.hpp"
#include "context.hpp"
#include "gpu_lock.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/managed_budget.hpp"
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
      const GpuReport* gpu = site.key == "gpu" ? machine.find_gpu(static_cast<int>(site.value)) : nullptr;
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
        managed_(options_.allow_managed_oversubscription),
        peaks_(request.machine, [this](const LinkPeak& peak,
                                       const std::vector<Warning>& warnings) { note_link(peak, warnings); }),
        progress_(request.selection.runnable.size()),
        identity_(request.resumed != nullptr ? identity_of(request.resumed->header) : new_identity()) {}

  int run() {
    take_over_finished();
    note_skipped();
    const GpuLock lock(gpus_used(request_.machine, request_.selection.runnable), options_.wait_for_gpu,
                       [] { return signal_received() != 0; });
    initialise_library();
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
  // Everything that an earlier part of this run finished is a result of this one.
  void take_over_finished() {
    if (request_.resumed == nullptr) {
      return;
    }
    for (const json& row : request_.resumed->rows) {
      keep(row);
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

  void initialise_library() const {
    // The library keeps a pointer to the program's name for its context.
    static std::array<char, 11> program{"grainscope"};
    std::vector<std::string> arguments = options_.library_flags;
    std::vector<char*> pointers{program.data()};
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    int count = static_cast<int>(arguments.size() + 1);
    benchmark::Initialize(&count, pointers.data());
    if (count > 1) {
      throw UsageError(std::string(pointers[1]) +
                       " is unknown to the Google Benchmark that this was built with (" +
                       build::kBenchmarkLibrary + ")");
    }
  }

  void register_all() {
    const bool has_unit =
        std::any_of(options_.library_flags.begin(), options_.library_flags.end(),
                    [](const std::string& flag) { return flag.starts_with("--benchmark_time_unit"); });
    for (const Benchmark& benchmark : request_.selection.runnable) {
      auto* registered = benchmark::RegisterBenchmark(
          benchmark.id.name().c_str(), [this, &benchmark](auto& state) { run_session(benchmark, state); });
      registered->Iterations(1)->UseManualTime();
      if (!has_unit) {
        registered->Unit(benchmark::kMicrosecond);
      }
      if (request_.scope.repetitions > 1) {
        registered->Repetitions(request_.scope.repetitions);
      }
    }
  }

  // Why nothing more is to be started; empty while the run goes on.
  [[nodiscard]] std::string why_stop() const {
    if (signal_received() != 0) {
      return "interrupted by signal " + std::to_string(signal_received());
    }
    if (!store_error_.empty()) {
      return store_error_;
    }
    if (!gpu_lost_.empty()) {
      return gpu_lost_;
    }
    if (options_.max_time_s && steady_now_s() - start_s_ > *options_.max_time_s) {
      return "--max-time of " + format_seconds(*options_.max_time_s) + " reached";
    }
    return {};
  }

  // One session of one case. Records a row unless it was interrupted.
  void run_session(const Benchmark& benchmark, benchmark::State& state) {
    const std::string name = benchmark.id.name();
    for ([[maybe_unused]] auto _ : state) {
      // Once begun, a case ends all its sessions before --max-time is looked at again.
      const std::string stop = recorded_[name].empty()  ? why_stop()
                               : signal_received() != 0 ? "interrupted"
                                                        : "";
      if (!stop.empty()) {
        incomplete_ = incomplete_.empty() ? stop : incomplete_;
        state.SkipWithError(stop.c_str());
        break;
      }
      if (!gpu_lost_.empty()) {
        // An earlier session of this case met the loss: the case is over, and none of it is measured again.
        recorded_[name].push_back(outcome_row(benchmark.id, Status::failed, "not started: " + gpu_lost_));
        state.SkipWithError(gpu_lost_.c_str());
        break;
      }
      progress_.start_case(name);
      Measurement measurement;
      const json row = measure(benchmark, measurement);
      if (row.is_null()) {
        incomplete_ = why_stop();
        state.SkipWithError("interrupted");
        break;
      }
      recorded_[name].push_back(row);
      if (row["status"] != "ok") {
        state.SkipWithError(row["error_message"].get<std::string>().c_str());
        break;
      }
      state.SetIterationTime(measurement.samples.summary.median);
      // A rate of nothing would give a coefficient of variation that is not a number, which is no JSON.
      if (measurement.bytes > 0) {
        state.SetBytesProcessed(static_cast<std::int64_t>(measurement.bytes));
      }
      if (measurement.operations > 0) {
        state.SetItemsProcessed(static_cast<std::int64_t>(measurement.operations));
      }
    }
  }

  // The row of one session; null where it was interrupted.
  json measure(const Benchmark& benchmark, Measurement& measurement) {
    const auto failed = [&](Status status, const std::string& reason) {
      json row = outcome_row(benchmark.id, status, reason);
      add_measurement(row, measurement);
      return row;
    };
    Session session(request_.machine, request_.scope.sampling, peaks_, &managed_,
                    [] { return signal_received() != 0; });
    try {
      measurement = benchmark.run(session);
      if (const std::string why = why_impossible(measurement); !why.empty()) {
        return failed(Status::failed, why);
      }
    } catch (const Interrupted&) {
      return nullptr;
    } catch (const SkipError& skip) {
      return failed(Status::skipped, skip.what());
    } catch (const EnvironmentError& missing) {
      // No huge pages reserved, a node that may not be used: the machine's answer, not a wrong result.
      return failed(Status::skipped, missing.what());
    } catch (const GpuLostError& lost) {
      gpu_lost_ = "the GPU was lost while " + benchmark.id.name() + " ran";
      return failed(Status::failed, lost.what());
    } catch (const std::bad_alloc&) {
      return failed(Status::failed, "the host ran out of memory: set a smaller --max-bytes");
    } catch (const std::exception& error) {
      return failed(Status::failed, error.what());
    }
    json row = outcome_row(benchmark.id, Status::ok, "");
    add_measurement(row, measurement);
    return row;
  }

  SuiteReporter::Hooks hooks() {
    return {.take_recorded =
                [this](const std::string& name) {
                  auto node = recorded_.extract(name);
                  return node.empty() ? std::vector<json>{} : std::move(node.mapped());
                },
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
    outcome_.complete = incomplete_.empty();
    outcome_.why_incomplete = incomplete_;
    if (!store_error_.empty()) {
      throw EnvironmentError(store_error_);
    }
    std::cerr << "grainscope: " << outcome_.ok << " ok, " << outcome_.skipped << " skipped, "
              << outcome_.failed << " failed in " << format_seconds(steady_now_s() - start_s_);
    if (request_.store == nullptr) {
      std::cerr << "; nothing was kept (--out DIR keeps it)\n";
      if (!outcome_.complete) {
        std::cerr << "grainscope: " << incomplete_ << '\n';
      }
      return;
    }
    const json context =
        result_context(library_context, identity_, options_, request_.scope.sampling.ci_target,
                       request_.machine, peaks_.all(), outcome_, steady_now_s() - start_s_);
    request_.store->finish({{"context", context}, {"benchmarks", rows_}});
    const std::string directory = request_.store->directory().string();
    std::cerr << "; " << directory << "/result.json\n";
    if (!outcome_.complete) {
      std::cerr << "grainscope: " << incomplete_ << "; go on with --resume " << directory << '\n';
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
  cuda::ManagedBudget managed_;
  LinkPeaks peaks_;
  Progress progress_;
  RunIdentity identity_;
  std::map<std::string, std::vector<json>> recorded_;
  std::vector<json> rows_;
  Outcome outcome_;
  std::string incomplete_;
  std::string store_error_;
  std::string gpu_lost_;
};

}  // namespace

int run_suite(RunRequest request) {
  Suite suite(request);
  return suite.run();
}

}  // namespace grainscope::harness
