#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_BENCHMARK_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_BENCHMARK_HPP

// What a family hands to the suite: its cases for this machine, each with a body that measures it.
// Families include this header and never Google Benchmark's.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "axes.hpp"
#include "grainscope/core/case.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/system/conditions.hpp"
#include "grainscope/transfer/mover.hpp"
#include "link_peaks.hpp"
#include "machine.hpp"

namespace grainscope::harness {

// Of visits: why they stopped before all were made, and the exit status of that alone.
struct Ending {
  std::string why;  // empty: all were made
  ExitStatus status = ExitStatus::ok;
  std::size_t late = 0;  // visits that were left out, since they would end after --max-time
};

// One sampling session, as a benchmark's body sees it.
class Session {
 public:
  Session(
      const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks, cuda::ManagedBudget* managed,
      std::function<bool()> interrupted, cuda::PinnedReserve* pinned = nullptr, QuietCpu* quiet = nullptr,
      std::function<void()> sampled = [] {});

  // Samples by the plan; see draw_samples. Right behind them `sampled` is called, as behind trials.
  [[nodiscard]] Samples sample(const std::function<double()>& one_sample) const;
  // What the board of a GPU uses while the operation goes on and on, where the plan asks for it and NVML
  // counts it. Before samples are drawn.
  void meter(Operation& operation, int gpu, Measurement& measurement) const;

  // One sample of each of `count` trials, numbered from 0, which differ in what they are given: a program
  // from many sources. Their summary is of all of them; no plan stops them early.
  [[nodiscard]] Samples trials(int count, const std::function<double(int)>& one_trial) const;

  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] transfer::Surroundings surroundings() const {
    return {&machine_.topology, managed_, pinned_};
  }
  // Null: samples run wherever the kernel puts them.
  [[nodiscard]] QuietCpu* quiet_cpu() const { return quiet_; }
  // The measured copy peak of this run on a path, in GB/s; measured at the first call.
  [[nodiscard]] double link_peak_gb_s(const LinkPath& path) const;

 private:
  const Machine& machine_;
  SamplingPlan plan_;
  LinkPeaks& peaks_;
  cuda::ManagedBudget* managed_;
  std::function<bool()> interrupted_;
  cuda::PinnedReserve* pinned_;
  QuietCpu* quiet_;
  std::function<void()> sampled_;
};

// What measure() knows beside the operation.
struct MeasureOptions {
  std::optional<int> gpu = {};              // whose board's power is read, of a case on this GPU alone
  std::optional<PhysicalLimit> limit = {};  // of the measurement
  std::optional<LinkPath> link = {};        // whose copy peak stands beside it
  // Throws FailedError where memory has left the place at which it is to stay; asked before and after every
  // sample.
  std::function<void()> residency = {};
};

// A residency of memory of this kind: `check`, or none where it cannot leave.
[[nodiscard]] inline std::function<void()> residency_of(cuda::MemoryKind kind, std::function<void()> check) {
  return kind == cuda::MemoryKind::managed_host ? std::move(check) : nullptr;
}

// One visit: samples an operation, verifies it and has it describe itself; under a profiler it also runs once
// more to be counted. Visits of a case are of processes that the program starts one after another
// (harness/visits.hpp), so each has its buffers placed anew.
using MakeOperation = std::function<std::unique_ptr<Operation>()>;
[[nodiscard]] Measurement measure(const Session& session, const MakeOperation& make,
                                  const MeasureOptions& options = {});
// The same of an operation that measurements of one visit share.
[[nodiscard]] Measurement measure(const Session& session, Operation& operation,
                                  const MeasureOptions& options = {});

// What a family says of all its cases: printed by --explain, and the text of docs/axes.md.
struct About {
  const char* question = "";
  const char* measures = "";  // how it answers it, where that is not plain
  const char* timed = "";     // what lies between the two clock readings, and what does not
  const char* formula = "";   // how bytes or operations follow from the case, and what else is in its row
  const char* source = "";    // paper, section, figure
  const char* limits = "";    // what it does not tell
};

// The same of a case. What it leaves empty is its family's.
struct Explanation {
  std::string measures = {};
  std::string timed = {};
  std::string formula = {};
  std::string source = {};
  std::string limits = {};
  std::string question = {};  // always its family's
};

struct Needs {
  std::uint64_t host_bytes = 0;
  std::uint64_t device_bytes = 0;
  std::uint64_t managed_bytes = 0;
  // Host memory that cases share and that grows step by step: whether there is room is looked at before each
  // step, not at the start of the run.
  std::uint64_t shared_host_bytes = 0;
};

struct Benchmark {
  Case id;
  std::string skip;           // why it cannot run here; empty: it can
  bool lacks_memory = false;  // that is why, and another time there may be enough
  // Why it cannot be on any machine, and what would be right: then it is left out. Empty: it can.
  std::string impossible = {};
  Needs needs;
  Explanation explanation;
  std::function<Measurement(Session&)> run;
  int version = 1;                     // of its family
  std::optional<double> about_s = {};  // of a visit that does not sample by the plan: for --plan
  // The same where it sets up as others do, but takes as many samples as the case says: of these alone.
  std::optional<double> samples_s = {};
  // What it shares with cases of other families that is costly to make: a round comes to them together.
  std::string shares = {};
  bool modelled = false;             // its row is: a model says the same at every visit, and has one
  std::vector<int> other_gpus = {};  // that take part, beside those of its site

  // All that it uses, each once.
  [[nodiscard]] std::set<int> gpus() const {
    std::set<int> used(other_gpus.begin(), other_gpus.end());
    for (const Site& site : id.site) {
      if (is_gpu(site)) {
        used.insert(static_cast<int>(site.value));
      }
    }
    return used;
  }

  // One more reason not to run; the first that is not empty stands.
  void skip_for(const std::string& why) {
    if (skip.empty()) {
      skip = why;
    }
  }
  // The same of memory that is not free at the moment.
  void skip_for_now(const std::string& why) {
    lacks_memory = lacks_memory || (skip.empty() && !why.empty());
    skip_for(why);
  }
};

// One file of benchmarks that answer one question.
struct Family {
  std::string name;
  About about;
  std::vector<DeclaredAxis> axes;
  // The cases of a machine at the points that a run takes.
  std::function<std::vector<Benchmark>(const Machine&, const Scope&, const Grids&)> list;
  bool written = false;  // lists what --transfer writes down, and then it alone is listed
  // Of what it measures: it rises when a kernel, the timed region or the formula changes, and results of two
  // versions do not measure the same. tests/golden/measured_code.json holds the code to it.
  int version = 1;
  std::map<std::string, int> versions = {};  // of rows' families, such as lean/sssp, that rose by themselves

  [[nodiscard]] int version_of(const std::string& family) const {
    const auto own = versions.find(family);
    return own == versions.end() ? version : own->second;
  }
};

}  // namespace grainscope::harness

#endif
