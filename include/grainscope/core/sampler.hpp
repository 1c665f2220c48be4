#ifndef GRAINSCOPE_CORE_SAMPLER_HPP
#define GRAINSCOPE_CORE_SAMPLER_HPP

// The samples of a visit: warm up, then sample until the median is known well enough or time is up.

#include <cstddef>
#include <functional>
#include <vector>

#include "grainscope/core/statistics.hpp"

namespace grainscope {

struct SamplingPlan {
  double ci_target = 0.02;        // wanted half-width of the 95 % interval, over the median
  double budget_s = 0.5;          // wall time for samples, with what prepares them
  std::size_t least_samples = 8;  // are taken whatever the budget
  std::size_t max_samples = 1024;
  std::size_t warmups = 2;
  double warmup_s = 0;    // short operations warm up for so long, to at most kMostWarmups
  double patience_s = 0;  // for so long no visit ends for a foretold interval
  bool power = false;     // of the board of a GPU is read before the samples, while the operation goes on
};
inline constexpr std::size_t kMostWarmups = 64;

// The part of a plan for a case that each of so many visits to it takes: they share time and samples, and
// together reach the target.
[[nodiscard]] SamplingPlan share_of(const SamplingPlan& plan, int visits);

struct Samples {
  std::vector<double> seconds;    // in the order taken
  std::vector<double> unsettled;  // set aside: taken before those, while the operation had not settled
  std::size_t warmups = 0;        // run before all of them
  Summary summary;
  bool reached_target = false;
  double wall_s = 0;  // of the sampling, warm-up excluded

  // Takes up those of one more visit to the same operation.
  void append(const Samples& more);

  // Of what was noted once a call, warm-ups and unsettled samples included, leaves what belongs to `seconds`.
  template <class Noted>
  void keep_sampled(std::vector<Noted>& noted) const {
    noted.erase(noted.begin(), noted.end() - static_cast<std::ptrdiff_t>(seconds.size()));
  }
};

// The same seconds; throws FailedError unless they are positive and finite, as those of a sample must be.
[[nodiscard]] double possible_sample_s(double seconds);

// Thrown between two samples when `interrupted` says so; what was sampled is dropped.
struct Interrupted {};

// Warms up, for short operations as long as caches, clocks and queues take, and draws samples from
// `one_sample` (seconds; untimed preparation inside it is the caller's). Looks at the interval only when n is
// 8, 16, 32, …: stopping at the first good look at any n would favour intervals that are too short. Stops at
// the budget or the maximum too, whatever the interval, and from n = 16 on at a look that foretells, by the
// root of n, an interval of more than twice the target at the end of both: such a case would use up its time
// and be as wide. A wide interval may also be of an operation that has not settled yet (caches, page tables,
// clocks): where the interval of the later half's median lies apart from the earlier half's, by more than the
// target, the earlier half is set aside as if it had been warm-up, and sampling goes on while there is
// budget. Fewer than 8 samples, of a plan that asks for no more, have no interval. Throws FailedError for a
// sample that is not a positive finite number, Interrupted as above.
[[nodiscard]] Samples draw_samples(const SamplingPlan& plan, const std::function<double()>& one_sample,
                                   const std::function<double()>& wall_clock_s,
                                   const std::function<bool()>& interrupted);

// Seconds on a clock that never goes back.
[[nodiscard]] double steady_now_s();
// Seconds by the kernel's count of hardware ticks, which no adjustment of time touches: another clock than
// any that a sample is timed by.
[[nodiscard]] double raw_now_s();
// CPU time of this process so far, all threads together, in seconds.
[[nodiscard]] double process_cpu_s();
// The same of the calling thread alone.
[[nodiscard]] double thread_cpu_s();

}  // namespace grainscope

#endif
