#include "case_runner.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/system/numa.hpp"
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

// The GPU that a case uses first; empty: none.
std::string uuid_of(const Machine& machine, const Case& id) {
  for (const Site& site : id.site) {
    const GpuReport* gpu = is_gpu(site) ? machine.find_gpu(static_cast<int>(site.value)) : nullptr;
    if (gpu != nullptr) {
      return gpu->uuid;
    }
  }
  return {};
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
      stop(why_interrupted(), state);
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
  return gpu_lost_.empty() ? hooks_.why_stop() : gpu_lost_;
}

void CaseRunner::stop(const std::string& why, benchmark::State& state) {
  why_incomplete_ = why_incomplete_.empty() ? why : why_incomplete_;
  state.SkipWithError(why.c_str());
}

// Null where it was interrupted.
json CaseRunner::measured_row(const Benchmark& benchmark, Measurement& measurement) {
  const double begun_s = steady_now_s();
  const double begun_cpu_s = process_cpu_s();
  const long begun_preemptions = preemptions();
  const std::optional<double> begun_stolen_s = stolen_so_far_s();
  const std::string uuid = uuid_of(machine_, benchmark.id);
  const auto conditions = [&] { return read_conditions(sched_getcpu(), machine_.nvml.get(), uuid); };
  const Conditions before = conditions();
  const auto row = [&](Status status, const std::string& reason) {
    json outcome = outcome_row(benchmark, status, reason);
    add_measurement(outcome, measurement);
    outcome["visit_s"] = steady_now_s() - begun_s;
    if (json state = state_json(before, conditions()); !state.empty()) {
      outcome["state"] = std::move(state);
    }
    outcome["cpu_s"] = process_cpu_s() - begun_cpu_s;
    outcome["preemptions"] = preemptions() - begun_preemptions;
    if (const auto now_s = stolen_so_far_s(); now_s && begun_stolen_s) {
      outcome["stolen_s"] = std::max(0.0, *now_s - *begun_stolen_s);
    }
    return outcome;
  };
  hooks_.starting(benchmark.id.name());
  Session session(machine_, plan_, peaks_, &managed_, interrupted, &pinned_, &quiet_);
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
