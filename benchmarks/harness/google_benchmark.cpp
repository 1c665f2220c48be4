#include "google_benchmark.hpp"

#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "build_info.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/system/numa.hpp"
#include "row.hpp"
#include "run.hpp"

namespace grainscope::harness {

std::string why_library_ends(const std::filesystem::path& root) {
  for (int index = 0;; ++index) {
    const std::filesystem::path cache =
        root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
    std::ifstream size_file(cache / "size");
    if (!size_file.is_open()) {
      return {};  // where the library stops, too
    }
    std::uint64_t size = 0;
    std::string unit;
    std::string unreadable = size_file >> size ? "" : "size";
    if (unreadable.empty() && size_file >> unit && unit != "K") {
      unreadable = "size";
    }
    for (const char* const name : {"type", "level", "shared_cpu_map"}) {
      std::ifstream file(cache / name);
      std::string word;
      if (unreadable.empty() && !(file >> word)) {
        unreadable = name;
      }
    }
    if (!unreadable.empty()) {
      return "Google Benchmark ends a program that cannot read " + (cache / unreadable).string() +
             ", and this one cannot: make the folder of caches readable, or hide it as a whole (in a "
             "container, an empty folder mounted over " +
             cache.parent_path().string() + "); nothing was begun";
    }
  }
}

void initialise_library(std::vector<std::string> flags) {
  // The library keeps a pointer to the program's name for its context.
  static std::array<char, 11> program{"grainscope"};
  std::vector<char*> pointers{program.data()};
  pointers.reserve(flags.size() + 2);
  for (std::string& flag : flags) {
    pointers.push_back(flag.data());
  }
  pointers.push_back(nullptr);
  int count = static_cast<int>(flags.size() + 1);
  benchmark::Initialize(&count, pointers.data());
  if (count > 1) {
    throw UsageError(std::string(pointers[1]) +
                     " is unknown to the Google Benchmark that this was built with (" +
                     build::kBenchmarkLibrary + ")");
  }
}

void register_case(const std::string& name, int repetitions, const std::vector<std::string>& flags,
                   std::function<void(benchmark::State&)> body) {
  auto* registered = benchmark::RegisterBenchmark(
      name.c_str(), [body = std::move(body)](benchmark::State& state) { body(state); });
  registered->Iterations(1)->UseManualTime();
  const bool has_unit = std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return flag.starts_with("--benchmark_time_unit");
  });
  if (!has_unit) {
    registered->Unit(benchmark::kMicrosecond);
  }
  if (repetitions > 1) {
    registered->Repetitions(repetitions);
  }
}

namespace {

using nlohmann::json;

bool interrupted() {
  return signal_received() != 0;
}

// How often the kernel has taken a CPU from a thread of this process that could have gone on.
long preemptions() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

// Of the GPUs of its site: others that take part may lend memory alone, and be idle.
std::vector<std::string> uuids_of(const Machine& machine, const Case& id) {
  std::vector<std::string> uuids;
  for (const Site& site : id.site) {
    const GpuReport* gpu = is_gpu(site) ? machine.find_gpu(static_cast<int>(site.value)) : nullptr;
    if (gpu != nullptr && !gpu->uuid.empty()) {
      uuids.push_back(gpu->uuid);
    }
  }
  return uuids;
}

// Clocks as they are behind the samples; and what held them down before or behind.
json state_json(const Conditions& before, const Conditions& behind) {
  json state = json::object();
  const auto add = [&](const char* key, const auto& value) {
    if (value) {
      state[key] = *value;
    }
  };
  add("governor", behind.governor);
  add("cpu_mhz", behind.cpu_mhz);
  add("gpu_sm_mhz", behind.gpu_sm_mhz);
  add("gpu_memory_mhz", behind.gpu_memory_mhz);
  if (before.throttle || behind.throttle) {
    std::set<std::string> reasons;
    for (const auto& told : {before.throttle, behind.throttle}) {
      if (told) {
        reasons.insert(told->begin(), told->end());
      }
    }
    state["throttle"] = reasons;
  }
  if (behind.link) {
    state["link_generation"] = behind.link->generation;
    state["link_width"] = behind.link->width;
  }
  add("ecc_errors", behind.ecc_errors);
  return state;
}

// What a hypervisor has taken from the CPUs that this thread may use, where that can be seen.
std::optional<double> stolen_so_far_s() {
  try {
    return stolen_s(current_affinity());
  } catch (const EnvironmentError&) {
    return std::nullopt;
  }
}

std::string why_interrupted() {
  return "interrupted by signal " + std::to_string(signal_received());
}

}  // namespace

CaseRunner::CaseRunner(const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks,
                       bool allow_managed_oversubscription, Hooks hooks)
    : machine_(machine),
      plan_(plan),
      peaks_(peaks),
      managed_(allow_managed_oversubscription),
      hooks_(std::move(hooks)) {}

json CaseRunner::visit(const Benchmark& benchmark, benchmark::State& state) {
  json row;
  for ([[maybe_unused]] auto _ : state) {
    if (const std::string why = why_not_start(); !why.empty()) {
      stop(why, state);
      break;
    }
    Measurement measurement;
    row = measured_row(benchmark, measurement);
    if (row.is_null()) {
      stop(lost_.empty() ? why_interrupted() : lost_, state);
      break;
    }
    if (row["status"] != "ok") {
      state.SkipWithError(row["error_message"].get<std::string>().c_str());
      break;
    }
    state.SetIterationTime(measurement.samples.summary.median);
  }
  return row;
}

std::string CaseRunner::why_not_start() const {
  if (interrupted()) {
    return why_interrupted();
  }
  return lost_.empty() ? hooks_.why_stop() : lost_;
}

void CaseRunner::stop(const std::string& why, benchmark::State& state) {
  ending_.why = ending_.why.empty() ? why : ending_.why;
  state.SkipWithError(why.c_str());
}

// No further case can do anything about it.
void CaseRunner::end(const Error& error) {
  lost_ = error.what();
  ending_.status = error.status();
}

// From the first case on each GPU to the end of this process.
void CaseRunner::hold_gpu_memory(const Benchmark& benchmark) {
  for (const int gpu : benchmark.gpus()) {
    const GpuReport* report = machine_.find_gpu(gpu);
    if (report == nullptr || report->cuda->held_memory_bytes == 0 || held_.contains(gpu)) {
      continue;
    }
    try {
      held_[gpu] = cuda::hold_memory(gpu, report->cuda->held_memory_bytes);
    } catch (const SkipError& too_much) {
      end(EnvironmentError("--gpu-memory " + format_bytes(report->cuda->memory_bytes()) +
                           " is less than a context and other processes take: to hold the rest, it " +
                           too_much.what()));
      throw Interrupted();
    }
  }
}

// Null where it was interrupted.
json CaseRunner::measured_row(const Benchmark& benchmark, Measurement& measurement) {
  const double begun_s = steady_now_s();
  const double begun_cpu_s = process_cpu_s();
  const long begun_preemptions = preemptions();
  const std::optional<double> begun_stolen_s = stolen_so_far_s();
  const std::vector<std::string> uuids = uuids_of(machine_, benchmark.id);
  const auto conditions = [&] {
    Conditions now = read_conditions(sched_getcpu(), machine_.nvml.get(), uuids);
    if (const auto mhz = measured_cpu_mhz()) {
      now.cpu_mhz = mhz;
    }
    return now;
  };
  const Conditions before = conditions();
  std::optional<Conditions> behind;  // the samples, before memory is looked at and freed
  const auto row = [&](Status status, const std::string& reason) {
    json outcome = outcome_row(benchmark, status, reason);
    add_measurement(outcome, measurement);
    outcome["visit_s"] = steady_now_s() - begun_s;
    if (json state = state_json(before, behind ? *behind : conditions()); !state.empty()) {
      outcome["state"] = std::move(state);
    }
    outcome["cpu_s"] = process_cpu_s() - begun_cpu_s;
    outcome["preemptions"] = preemptions() - begun_preemptions;
    if (const auto now_s = stolen_so_far_s(); now_s && begun_stolen_s) {
      outcome["stolen_s"] = std::max(0.0, *now_s - *begun_stolen_s);
    }
    // On the clock `host`, where several threads may work together. Its own work counts for nothing above.
    if (status == Status::ok && measurement.timing.clock == Clock::steady && !measurement.disturbed) {
      if (const auto line_ns = cache_line_ns(current_affinity())) {
        outcome["state"]["cache_line_ns"] = *line_ns;
      }
    }
    return outcome;
  };
  hooks_.starting(benchmark.id.name());
  SamplingPlan plan = plan_;
  plan.power =
      plan.power && benchmark.gpus().size() == 1;  // of one board of several it would tell too little
  Session session(machine_, plan, peaks_, &managed_, interrupted, &pinned_, &quiet_,
                  [&] { behind = conditions(); });
  try {
    hold_gpu_memory(benchmark);
    measurement = benchmark.run(session);
    const std::string why = why_impossible(measurement);
    return row(why.empty() ? Status::ok : Status::failed, why);
  } catch (const Interrupted&) {
    return nullptr;
  } catch (const SkipError& skip) {
    return row(Status::skipped, skip.what());
  } catch (const InputError& unusable) {
    end(unusable);
    return nullptr;
  } catch (const EnvironmentError& missing) {
    // No huge pages reserved, a node that may not be used: the machine's answer, not a wrong result.
    return row(Status::skipped, missing.what());
  } catch (const GpuLostError& lost) {
    lost_ = "the GPU was lost while " + benchmark.id.name() + " ran";
    return row(Status::failed, lost.what());
  } catch (const RankLostError& lost) {
    lost_ = "a rank was lost while " + benchmark.id.name() + " ran";
    return row(Status::failed, lost.what());
  } catch (const std::bad_alloc&) {
    return row(Status::failed, "the host ran out of memory: set a smaller --max-bytes");
  } catch (const std::exception& error) {
    return row(Status::failed, error.what());
  }
}

namespace {

using Run = benchmark::BenchmarkReporter::Run;

// The case's own name: fixed iterations and manual time had added to it.
Run with_own_name(Run run) {
  run.run_name.iterations.clear();
  run.run_name.time_type.clear();
  run.run_name.repetitions.clear();
  return run;
}

bool is_aggregate(const Run& run) {
  return run.run_type == Run::RT_Aggregate;
}

double in_unit(double seconds, const std::string& unit) {
  const std::map<std::string, double> per_second{{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}};
  return seconds * per_second.at(unit);
}

// Gives cases their own names back, and each recorded visit Google Benchmark's fields.
class LibraryReporter final : public benchmark::BenchmarkReporter {
 public:
  LibraryReporter(const Options& options, std::map<std::string, std::vector<json>*> recorded)
      : recorded_(std::move(recorded)) {
    capture_.SetOutputStream(&captured_);
    capture_.SetErrorStream(&captured_);
    if (options.display_format != "console") {
      sinks_.push_back(make_sink(options.display_format, std::cout, options.display_aggregates_only));
    }
    if (!options.file_out.empty() && options.file_format != "console") {
      sinks_.push_back(make_sink(options.file_format, file_text_, options.file_aggregates_only));
    }
  }

  bool ReportContext(const Context& context) override {
    capture_.ReportContext(context);
    context_ = json::parse(captured_.str() + "]}")["context"];
    captured_.str("");
    for (Sink& sink : sinks_) {
      sink.library->ReportContext(context);
    }
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> named(runs.size());
    std::transform(runs.begin(), runs.end(), named.begin(), with_own_name);
    if (named.empty()) {
      return;
    }
    if (!is_aggregate(named.front())) {
      take_fields(named);
    }
    for (Sink& sink : sinks_) {
      show(sink, named);
    }
  }

  void Finalize() override {
    for (Sink& sink : sinks_) {
      sink.library->Finalize();
    }
  }

  [[nodiscard]] const json& context() const { return context_; }
  [[nodiscard]] std::string file_text() const { return file_text_.str(); }

 private:
  struct Sink {
    bool aggregates_only = false;
    std::unique_ptr<BenchmarkReporter> library;  // json or csv
  };

  static Sink make_sink(const std::string& format, std::ostream& out, bool aggregates_only) {
    Sink sink{aggregates_only, nullptr};
    if (format == "csv") {
// Google Benchmark marks its CSV reporter as deprecated; it is the one that writes the format people know.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
      sink.library = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
    } else {
      sink.library = std::make_unique<benchmark::JSONReporter>();
    }
    sink.library->SetOutputStream(&out);
    sink.library->SetErrorStream(&std::cerr);
    return sink;
  }

  static void show(Sink& sink, const std::vector<Run>& runs) {
    std::vector<Run> shown;
    // A preset may come several times without being asked to.
    const bool has_aggregates = runs.front().repetitions > 1;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(shown), [&](const Run& run) {
      return !sink.aggregates_only || !has_aggregates || is_aggregate(run);
    });
    if (!shown.empty()) {
      sink.library->ReportRuns(shown);
    }
  }

  void take_fields(const std::vector<Run>& runs) {
    capture_.ReportRuns(runs);
    const std::string text = captured_.str();
    captured_.str("");
    const json library_rows = json::parse("[" + text.substr(text.find('{')) + "]");
    std::vector<json>& recorded = *recorded_.at(runs.front().run_name.str());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      json row = library_rows[i];
      // Which of Google Benchmark's repetitions it was; a visit has its round.
      row.erase("repetitions");
      row.erase("repetition_index");
      row.update(recorded[i]);
      if (const auto cpu_s = row.find("cpu_s"); cpu_s != row.end()) {
        row["cpu_time"] = in_unit(*cpu_s, row["time_unit"]);  // of the visit, not of this replay
      }
      recorded[i] = std::move(row);
    }
  }

  std::map<std::string, std::vector<json>*> recorded_;
  json context_;
  std::ostringstream file_text_;
  std::vector<Sink> sinks_;
  std::ostringstream captured_;
  benchmark::JSONReporter capture_;  // its text is where Google Benchmark's fields come from
};

void replay(const json& row, benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    if (row.at("status") != "ok") {
      state.SkipWithError(row.at("error_message").get<std::string>().c_str());
      break;
    }
    state.SetIterationTime(row.at("median_s"));
    // A rate of nothing would give a coefficient of variation that is not a number, which is no JSON.
    if (row.contains("bytes")) {
      state.SetBytesProcessed(row["bytes"].get<std::int64_t>());
    }
    if (row.contains("operations")) {
      state.SetItemsProcessed(row["operations"].get<std::int64_t>());
    }
  }
}

}  // namespace

LibraryReport report_by_library(const Options& options, VisitsOfCases cases,
                                const std::function<std::vector<json>(const VisitsOfCases&)>& merge) {
  std::map<std::string, std::vector<json>*> recorded;
  benchmark::ClearRegisteredBenchmarks();
  for (std::vector<json>& visits : cases) {
    // The library takes all repetitions to have the counters of the first.
    std::stable_partition(visits.begin(), visits.end(),
                          [](const json& row) { return row["status"] == "ok"; });
    const std::string name = visits.front().at("name");
    recorded[name] = &visits;
    register_case(name, static_cast<int>(visits.size()), options.library_flags,
                  [&visits, next = std::size_t{0}](benchmark::State& state) mutable {
                    replay(visits.at(next++), state);
                  });
  }
  LibraryReporter reporter(options, recorded);
  if (cases.empty()) {
    benchmark::BenchmarkReporter::Context context;
    reporter.ReportContext(context);
    reporter.Finalize();
  } else {
    benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
  }
  benchmark::ClearRegisteredBenchmarks();
  return {reporter.context(), merge(cases), reporter.file_text()};
}

}  // namespace grainscope::harness
