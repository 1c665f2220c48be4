#include "grainscope/system/quiet_cpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope {
namespace {

// A quiet CPU takes 1.00 to 1.08 times the least that was seen, by its clock; a shared one 1.15 and more.
constexpr double kQuiet = 1.1;
constexpr int kCalls = 100;  // some 25 µs, and as much for a CPU to wake up before
// The least of so many probes of each CPU is what the first choice knows.
constexpr int kFirstProbes = 3;
// Where so many are busy, others are too, and to ask them all would take longer than what is sampled.
constexpr std::size_t kMostAsked = 16;

double time_calls() {
  const double start_s = steady_now_s();
  for (int call = 0; call < kCalls; ++call) {
    static_cast<void>(getppid());  // the C library does not remember it
  }
  return steady_now_s() - start_s;
}

}  // namespace

QuietCpu::QuietCpu()
    : probe_([](int cpu) {
        const OnCpu there(cpu);
        static_cast<void>(time_calls());  // a CPU that slept wakes up
        return time_calls();
      }) {}

std::optional<QuietCpu::Choice> QuietCpu::choose(int first) {
  std::vector<int> cpus = current_affinity();
  if (cpus.size() < 2) {
    return std::nullopt;
  }
  if (const auto at = std::find(cpus.begin(), cpus.end(), first); at != cpus.end()) {
    std::rotate(cpus.begin(), at, cpus.end());
  }
  cpus.resize(std::min(cpus.size(), kMostAsked));
  const auto probe = [&](int cpu) {
    const double seconds = probe_(cpu);
    least_s_ = std::min(least_s_.value_or(seconds), seconds);
    return seconds;
  };
  for (int round = least_s_ ? kFirstProbes : 0; round < kFirstProbes; ++round) {
    std::for_each(cpus.begin(), cpus.end(), probe);
  }
  Choice least;
  double least_s = std::numeric_limits<double>::infinity();
  for (const int cpu : cpus) {
    const double seconds = probe(cpu);
    if (seconds <= kQuiet * *least_s_) {
      return Choice{cpu, true};
    }
    if (seconds < least_s) {
      least_s = seconds;
      least = {cpu, false};
    }
  }
  return least;
}

}  // namespace grainscope
