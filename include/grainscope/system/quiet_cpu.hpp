#ifndef GRAINSCOPE_SYSTEM_QUIET_CPU_HPP
#define GRAINSCOPE_SYSTEM_QUIET_CPU_HPP

// A CPU that shares its core with nobody just now. The CPUs of a virtual machine are often halves of cores
// whose other half runs another's work: while that is busy, the same call takes 1.2 times as long and the
// same copy 1.5 times, and it changes within some 50 ms. So it is looked for before each sample, not once.

#include <functional>
#include <optional>
#include <utility>

namespace grainscope {

// Not thread-safe.
class QuietCpu {
 public:
  struct Choice {
    int cpu = 0;
    bool quiet = false;  // else all are busy, and this is the least busy
  };
  // Seconds of a short piece of work by the calling thread on this CPU.
  using Probe = std::function<double(int cpu)>;

  // The probe is some system calls, which feel a neighbour and leave caches as they are.
  QuietCpu();
  explicit QuietCpu(Probe probe) : probe_(std::move(probe)) {}

  // Of the CPUs that the calling thread may run on, the first that is quiet, beginning with `first`; 16 are
  // asked at most. Nothing where there is only one. Leaves the thread's CPUs as they were.
  [[nodiscard]] std::optional<Choice> choose(int first);

 private:
  Probe probe_;
  std::optional<double> least_s_;  // of all probes so far
};

}  // namespace grainscope

#endif
