#include "case_runner.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/stolen_time.hpp"
#include "interrupt.hpp"
#include "row.hpp"

namespace grainscope::harness {
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

void tell_library(const Measurement& measurement, benchmark::State& state) {
  state.SetIterationTime(measurement.samples.summary.median);
  // A rate of nothing would give a coefficient of variation that is not a number, which is no JSON.
  if (measurement.bytes > 0) {
    state.SetBytesProcessed(static_cast<std::int64_t>(measurement.bytes));
  }
  if (measurement.operations > 0) {
    state.SetItemsProcessed(static_cast<std::int64_t>(measurement.operations));
  }
}

}  // namespace

CaseRunner::CaseRunner(const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks,
                       bool allow_managed_oversubscription, Hooks hooks)
    : machine_(machine),
      plan_(plan),
      peaks_(peaks),
      managed_(allow_managed_oversubscription),
      hooks_(std::move(hooks)) {}

void CaseRunner::run_session(const Benchmark& benchmark, benchmark::State& state) {
  const std::string name = benchmark.id.name();
  for ([[maybe_unused]] auto _ : state) {
    if (const std::string why = why_not_start(name); !why.empty()) {
      stop(why, state);
      break;
    }
    Measurement measurement;
    const json row = session_row(benchmark, measurement);
    if (row.is_null()) {
      stop(why_interrupted(), state);
      break;
    }
    rows_[name].push_back(row);
    if (row["status"] != "ok") {
      state.SkipWithError(row["error_message"].get<std::string>().c_str());
      break;
    }
    tell_library(measurement, state);
  }
}

std::vector<json> CaseRunner::take_rows(const std::string& name) {
  auto node = rows_.extract(name);
  return node.empty() ? std::vector<json>{} : std::move(node.mapped());
}

std::string CaseRunner::why_not_start(const std::string& name) const {
  if (interrupted()) {
    return why_interrupted();
  }
  // Once begun, a case ends all its sessions before anything else is looked at.
  if (rows_.contains(name)) {
    return {};
  }
  return gpu_lost_.empty() ? hooks_.why_stop() : gpu_lost_;
}

void CaseRunner::stop(const std::string& why, benchmark::State& state) {
  why_incomplete_ = why_incomplete_.empty() ? why : why_incomplete_;
  state.SkipWithError(why.c_str());
}

// The row of one session; null where it was interrupted.
json CaseRunner::session_row(const Benchmark& benchmark, Measurement& measurement) {
  const double begun_s = steady_now_s();
  const long begun_preemptions = preemptions();
  const std::optional<double> begun_stolen_s = stolen_so_far_s();
  const auto row = [&](Status status, const std::string& reason) {
    json outcome = outcome_row(benchmark.id, status, reason);
    add_measurement(outcome, measurement);
    outcome["session_s"] = steady_now_s() - begun_s;
    outcome["preemptions"] = preemptions() - begun_preemptions;
    if (const auto now_s = stolen_so_far_s(); now_s && begun_stolen_s) {
      outcome["stolen_s"] = std::max(0.0, *now_s - *begun_stolen_s);
    }
    return outcome;
  };
  if (!gpu_lost_.empty()) {
    // An earlier session of this case met the loss: the case is over.
    return row(Status::failed, "not started: " + gpu_lost_);
  }
  hooks_.starting(benchmark.id.name());
  Session session(machine_, plan_, peaks_, &managed_, interrupted);
  try {
    measurement = benchmark.run(session);
    const std::string why = why_impossible(measurement);
    return row(why.empty() ? Status::ok : Status::failed, why);
  } catch (const Interrupted&) {
    return nullptr;
  } catch (const SkipError& skip) {
    return row(Status::skipped, skip.what());
  } catch (const EnvironmentError& missing) {
    // No huge pages reserved, a node that may not be used: the machine's answer, not a wrong result.
    return row(Status::skipped, missing.what());
  } catch (const GpuLostError& lost) {
    gpu_lost_ = "the GPU was lost while " + benchmark.id.name() + " ran";
    return row(Status::failed, lost.what());
  } catch (const std::bad_alloc&) {
    return row(Status::failed, "the host ran out of memory: set a smaller --max-bytes");
  } catch (const std::exception& error) {
    return row(Status::failed, error.what());
  }
}

}  // namespace grainscope::harness
