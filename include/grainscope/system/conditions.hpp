#ifndef GRAINSCOPE_SYSTEM_CONDITIONS_HPP
#define GRAINSCOPE_SYSTEM_CONDITIONS_HPP

// What of a machine may change between two visits to a case and change its number: clocks, what holds them
// down, the link, memory errors. Absent is what the machine does not tell.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/system/nvml.hpp"

namespace grainscope {

struct Conditions {
  std::optional<std::string> governor;  // of the CPU that asks
  std::optional<int> cpu_mhz;           // as cpufreq says: of CPUs that sleep, perhaps a clock of before
  std::optional<int> gpu_sm_mhz, gpu_memory_mhz;
  std::optional<std::vector<std::string>> throttle;  // names of clock_event_reason_names()
  std::optional<NvmlLinkState> link;
  std::optional<std::uint64_t> ecc_errors;  // that could not be corrected, since the driver was loaded
};

// What holds of two GPUs at once: the lower clocks, the slower link, every reason and the errors of both.
// What one of them does not tell is the other's.
[[nodiscard]] Conditions together(Conditions one, const Conditions& other);

// Of a CPU, by cpufreq; and of the GPUs with these UUIDs together, where there is NVML.
[[nodiscard]] Conditions read_conditions(int cpu, const Nvml* nvml, const std::vector<std::string>& uuids,
                                         const std::filesystem::path& root = "/");

// The clock of the CPU that the calling thread runs on, in MHz, as it is while the thread works: by a chain
// of additions, of which a core does one a cycle; the least of four tries of some 25 µs. Virtual machines
// tell no other, and it may change from second to second (docs/uncertainty.md, The clock of the CPUs).
// Nothing on processors other than x86-64 and AArch64.
[[nodiscard]] std::optional<int> measured_cpu_mhz();

// A CPU that shares its core with nobody just now. The CPUs of a virtual machine are often halves of cores
// whose other half runs another's work: while that is busy, the same call takes 1.2 times as long and the
// same copy 1.5 times, and it changes within some 50 ms. So it is looked for before each sample, not once.

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

// How far CPUs lie from each other. A hypervisor moves those of a virtual machine to other cores while it
// runs: now they share a cache, some seconds later they do not, and what several threads do together takes
// another time (docs/uncertainty.md, CPUs that move).

// Nanoseconds that a cache line takes from the first of these CPUs to another, on the mean over the others,
// of which 15 are asked at most: of each the least of several tries, less than half a millisecond in all.
// Nothing where there is one CPU, or where one has so much other work that it does not answer within 20 ms.
// By the calling thread, which runs on the first CPU meanwhile, and another.
[[nodiscard]] std::optional<double> cache_line_ns(const std::vector<int>& cpus);

// What a hypervisor takes from a virtual machine: time in which a CPU had work and did not run.

// Seconds since the machine began, over all of `cpus`; of which the kernel counts whole ticks (1/100 s) of
// each CPU. 0 on bare metal; nullopt where /proc/stat below `root` cannot be read or lacks one of the CPUs.
// Source: proc_stat(5).
[[nodiscard]] std::optional<double> stolen_s(const std::vector<int>& cpus,
                                             const std::filesystem::path& root = "/");

}  // namespace grainscope

#endif
