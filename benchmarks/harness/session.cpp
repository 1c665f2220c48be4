#include <sched.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "benchmark.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/board_meter.hpp"
#include "grainscope/system/managed_counter.hpp"
#include "link_peaks.hpp"

namespace grainscope::harness {
namespace {

// So long the board's counter of energy is waited for; it moves ten times a second.
constexpr double kLongestMetering_s = 2;

}  // namespace

Session::Session(const Machine& machine, const SamplingPlan& plan, LinkPeaks& peaks,
                 cuda::ManagedBudget* managed, std::function<bool()> interrupted, cuda::PinnedReserve* pinned,
                 QuietCpu* quiet, std::function<void()> sampled)
    : machine_(machine),
      plan_(plan),
      peaks_(peaks),
      managed_(managed),
      interrupted_(std::move(interrupted)),
      pinned_(pinned),
      quiet_(quiet),
      sampled_(std::move(sampled)) {}

Samples Session::sample(const std::function<double()>& one_sample) const {
  Samples samples = draw_samples(plan_, one_sample, steady_now_s, interrupted_);
  sampled_();
  return samples;
}

void Session::meter(Operation& operation, int gpu, Measurement& measurement) const {
  const GpuReport* report = machine_.find_gpu(gpu);
  if (!plan_.power || machine_.nvml == nullptr || report == nullptr || report->uuid.empty()) {
    return;
  }
  const BoardMeter board([nvml = machine_.nvml.get(), uuid = report->uuid] { return nvml->energy_mj(uuid); });
  const double begun = steady_now_s();
  double took_s = 0;
  std::size_t runs = 0;
  while (!board.is_done() && took_s < kLongestMetering_s) {
    if (interrupted_()) {
      throw Interrupted{};
    }
    if (!operation.rehearse()) {
      return;
    }
    ++runs;
    took_s = steady_now_s() - begun;
  }
  const std::optional<double> power_w = board.power_w();
  if (power_w && runs > 0) {
    measurement.power_w = power_w;
    measurement.energy_j = *power_w * took_s / static_cast<double>(runs);
  }
}

Samples Session::trials(int count, const std::function<double(int)>& one_trial) const {
  const double begun = steady_now_s();
  Samples samples;
  for (int trial = 0; trial < count; ++trial) {
    if (interrupted_()) {
      throw Interrupted{};
    }
    samples.seconds.push_back(possible_sample_s(one_trial(trial)));
  }
  samples.wall_s = steady_now_s() - begun;
  sampled_();
  samples.summary = summarize(samples.seconds);
  return samples;
}

namespace {

// What passes by that clock around each sample, where an operation can tell.
class Around {
 public:
  double run(Operation& operation) {
    const double begun_s = raw_now_s();
    const double seconds = operation.run();
    const double passed_s = raw_now_s() - begun_s;
    if (const auto around_s = operation.around_s(passed_s)) {
      noted_s_.push_back(*around_s);
    }
    return seconds;
  }
  [[nodiscard]] std::optional<double> median_s(const Samples& samples) const {
    if (noted_s_.empty()) {
      return std::nullopt;
    }
    std::vector<double> sampled = noted_s_;
    samples.keep_sampled(sampled);
    return summarize(sampled).median;
  }

 private:
  std::vector<double> noted_s_;  // of each call
};

// Samples of a visit, each on a CPU that shares its core with nobody, where the calling thread does all that
// the host does and the host's clock tells the time.
class OnQuietCpu {
 public:
  OnQuietCpu(QuietCpu& cpus, Operation& operation, Around& around)
      : cpus_(cpus), operation_(operation), around_(around) {}

  double sample() {
    wait();
    operation_.prepare();
    const auto choice = cpus_.choose(cpu_);
    disturbed_.push_back(choice && !choice->quiet ? 1 : 0);
    if (!choice) {
      return around_.run(operation_);
    }
    looked_ = true;
    if (choice->cpu != cpu_ && last_s_ < kCachesMatter_s) {
      // There the caches hold nothing of it yet.
      {
        const OnCpu there(choice->cpu);
        static_cast<void>(operation_.run());
      }
      operation_.prepare();
    }
    cpu_ = choice->cpu;
    const OnCpu there(cpu_);
    last_s_ = around_.run(operation_);
    return last_s_;
  }

  // As Measurement::disturbed.
  [[nodiscard]] std::optional<std::uint64_t> disturbed(const Samples& samples) const {
    if (!looked_) {
      return std::nullopt;
    }
    std::vector<int> sampled = disturbed_;
    samples.keep_sampled(sampled);
    return std::accumulate(sampled.begin(), sampled.end(), std::uint64_t{0});
  }

 private:
  static constexpr double kCachesMatter_s = 1e-3;
  // Neighbours come and go within some 50 ms. A visit waits for a part of that, in all.
  static constexpr double kPatience_s = 20e-3;
  static constexpr std::chrono::milliseconds kPause{1};

  // For a quiet CPU, as long as the visit has patience; before a sample is prepared, so that caches are as
  // that leaves them.
  void wait() {
    while (waited_s_ < kPatience_s) {
      const double start_s = steady_now_s();
      const auto choice = cpus_.choose(cpu_);
      if (!choice || choice->quiet) {
        return;
      }
      std::this_thread::sleep_for(kPause);
      waited_s_ += steady_now_s() - start_s;
    }
  }

  QuietCpu& cpus_;
  Operation& operation_;
  Around& around_;
  std::vector<int> disturbed_;  // whether there was a neighbour: of each call, 1
  bool looked_ = false;
  int cpu_ = sched_getcpu();
  double last_s_ = 0;
  double waited_s_ = 0;
};

// The driver's own counts of managed memory, in one more sample that is not timed. There are none where it
// lets nobody count, and where all are 0: what is read in place is not told from what was not seen.
void count_moved(Operation& operation, Measurement& measurement) {
  if (!operation.reads_managed()) {
    return;
  }
  std::string why_not;
  const auto counter = ManagedCounter::open(why_not);
  if (counter == nullptr) {
    return;
  }
  operation.prepare();
  const ManagedCounts before = counter->read();
  operation.run_counted();
  const ManagedCounts after = counter->read();
  const std::uint64_t to_gpu_bytes = after.to_gpu_bytes - before.to_gpu_bytes;
  const std::uint64_t to_host_bytes = after.to_host_bytes - before.to_host_bytes;
  const std::uint64_t gpu_faults = after.gpu_faults - before.gpu_faults;
  if (to_gpu_bytes + to_host_bytes + gpu_faults == 0) {
    return;
  }
  measurement.counters["driver_to_gpu_bytes"] = static_cast<double>(to_gpu_bytes);
  measurement.counters["driver_to_host_bytes"] = static_cast<double>(to_host_bytes);
  measurement.counters["driver_gpu_faults"] = static_cast<double>(gpu_faults);
}

void visit(const Session& session, Operation& operation, const MeasureOptions& options,
           Measurement& measurement) {
  Around around;
  std::optional<OnQuietCpu> quiet;
  if (session.quiet_cpu() != nullptr && operation.on_callers_thread() && operation.trials() == 0 &&
      operation.timing().clock == Clock::steady) {
    quiet.emplace(*session.quiet_cpu(), operation, around);
  }
  const auto check_residency = [&] {
    if (options.residency) {
      options.residency();
    }
  };
  const auto one_sample = [&] {
    check_residency();
    if (!quiet) {
      operation.prepare();
    }
    const double seconds = quiet ? quiet->sample() : around.run(operation);
    check_residency();
    return seconds;
  };
  const int trials = operation.trials();
  if (options.gpu) {
    session.meter(operation, *options.gpu, measurement);  // first: what notes a number a run keeps the last
  }
  measurement.samples.append(trials > 0 ? session.trials(trials, [&](int) { return one_sample(); })
                                        : session.sample(one_sample));
  measurement.around_s = around.median_s(measurement.samples);
  if (quiet) {
    measurement.disturbed = quiet->disturbed(measurement.samples);
  }
  if (cuda::is_counted()) {
    operation.prepare();
    const cuda::ProfileRange counted("counted trial");
    operation.run_counted();
  }
  count_moved(operation, measurement);
  measurement.verification = operation.verify();
  if (options.residency) {
    measurement.verification += "; before and after every sample all pages looked at were on the host";
  }
  measurement.timing = operation.timing();
  operation.describe(measurement);
}

// What stands beside what was measured.
void add_limits(const Session& session, const MeasureOptions& options, Measurement& measurement) {
  measurement.limit = options.limit ? options.limit : measurement.limit;
  if (options.link) {
    measurement.link_peak_gb_s = session.link_peak_gb_s(*options.link);
  }
}

}  // namespace

Measurement measure(const Session& session, const MakeOperation& make, const MeasureOptions& options) {
  Measurement measurement;
  {
    const std::unique_ptr<Operation> operation = make();
    visit(session, *operation, options, measurement);
  }  // its buffers are gone before a peak is measured by others
  add_limits(session, options, measurement);
  return measurement;
}

Measurement measure(const Session& session, Operation& operation, const MeasureOptions& options) {
  Measurement measurement;
  visit(session, operation, options, measurement);
  add_limits(session, options, measurement);
  return measurement;
}

double Session::link_peak_gb_s(const LinkPath& path) const {
  return peaks_.get(path).peak_gb_s;
}

}  // namespace grainscope::harness
