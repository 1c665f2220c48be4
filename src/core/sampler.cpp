#include "grainscope/core/sampler.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <span>
#include <string>

#include "grainscope/core/error.hpp"

namespace grainscope {
namespace {

constexpr std::size_t kFirstLook = 8;
// The least that each of several visits to a case takes: its median is one of several.
constexpr std::size_t kLeastOfSeveral = 4;

// At the first look the interval goes from the least to the most: one outlier says nothing of the next looks.
constexpr std::size_t kFirstForecast = 2 * kFirstLook;

// How many times too wide the interval has to be foretold before nobody waits for it: it need not narrow
// quite with the root.
constexpr double kForecastMargin = 2;

bool is_look(std::size_t n) {
  return n >= kFirstLook && std::has_single_bit(n);
}

// Whether an interval that narrows with the root of the number of samples stays wide to the end of the plan.
bool is_out_of_reach(const SamplingPlan& plan, std::size_t n, double wall_s, double half_width) {
  if (n < kFirstForecast || wall_s < plan.patience_s) {
    return false;
  }
  const auto taken = static_cast<double>(n);
  const double at_end = std::min(static_cast<double>(plan.max_samples), taken * plan.budget_s / wall_s);
  return half_width * std::sqrt(taken / at_end) > kForecastMargin * plan.ci_target;
}

// Whether samples have changed their level midway.
bool is_unsettled(std::span<const double> seconds, double least) {
  if (seconds.size() < 2 * kFirstLook) {
    return false;
  }
  const Summary earlier = summarize(seconds.first(seconds.size() / 2));
  const Summary later = summarize(seconds.subspan(seconds.size() / 2));
  const bool apart = earlier.ci95->high < later.ci95->low || later.ci95->high < earlier.ci95->low;
  return apart && std::abs(earlier.median - later.median) > least * later.median;
}

}  // namespace

void Samples::append(const Samples& more) {
  reached_target = more.reached_target && (seconds.empty() || reached_target);
  seconds.insert(seconds.end(), more.seconds.begin(), more.seconds.end());
  unsettled.insert(unsettled.end(), more.unsettled.begin(), more.unsettled.end());
  warmups += more.warmups;
  wall_s += more.wall_s;
  summary = summarize(seconds);
}

SamplingPlan share_of(const SamplingPlan& plan, int visits) {
  if (visits <= 1) {
    return plan;
  }
  SamplingPlan share = plan;
  share.budget_s /= visits;
  share.patience_s /= visits;
  share.least_samples = kLeastOfSeveral;
  share.max_samples = std::max(kFirstLook, plan.max_samples / static_cast<std::size_t>(visits));
  share.ci_target *= std::sqrt(static_cast<double>(visits));
  return share;
}

namespace {

double seconds_on(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double possible_sample_s(double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) {
    throw FailedError("impossible: a sample took " + std::to_string(seconds) +
                      " s; the clock or the timed operation is broken");
  }
  return seconds;
}

double raw_now_s() {
  return seconds_on(CLOCK_MONOTONIC_RAW);
}

double process_cpu_s() {
  return seconds_on(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_cpu_s() {
  return seconds_on(CLOCK_THREAD_CPUTIME_ID);
}

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Samples draw_samples(const SamplingPlan& plan, const std::function<double()>& one_sample,
                     const std::function<double()>& wall_clock_s, const std::function<bool()>& interrupted) {
  const auto checked_sample = [&] {
    if (interrupted()) {
      throw Interrupted{};
    }
    return possible_sample_s(one_sample());
  };

  Samples samples;
  for (const double begun_s = wall_clock_s();
       samples.warmups < plan.warmups ||
       (samples.warmups < kMostWarmups && wall_clock_s() - begun_s < plan.warmup_s);
       ++samples.warmups) {
    checked_sample();
  }
  const auto look = [&] {
    samples.summary = summarize(samples.seconds);
    const auto& interval = samples.summary.ci95;
    const double half_width = interval ? relative_half_width(*interval, samples.summary.median)
                                       : std::numeric_limits<double>::infinity();
    samples.reached_target = half_width <= plan.ci_target;
    return half_width;
  };
  const double start_s = wall_clock_s();
  while (true) {
    samples.seconds.push_back(checked_sample());
    samples.wall_s = wall_clock_s() - start_s;
    const std::size_t n = samples.seconds.size();
    if (n < plan.least_samples) {
      continue;
    }
    const bool out_of_time = samples.wall_s >= plan.budget_s;
    const bool last = n >= plan.max_samples || out_of_time;
    if (!is_look(n) && !last) {
      continue;
    }
    const double half_width = look();
    if (samples.reached_target) {
      return samples;
    }
    if (is_unsettled(samples.seconds, plan.ci_target)) {
      const auto half = samples.seconds.begin() + static_cast<std::ptrdiff_t>(n / 2);
      samples.unsettled.insert(samples.unsettled.end(), samples.seconds.begin(), half);
      samples.seconds.erase(samples.seconds.begin(), half);
      if (!out_of_time) {
        continue;
      }
      look();
      return samples;
    }
    if (last || is_out_of_reach(plan, n, samples.wall_s, half_width)) {
      return samples;
    }
  }
}

}  // namespace grainscope
