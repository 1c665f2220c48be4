#include "grainscope/system/conditions.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/sysfs.hpp"

namespace grainscope {

namespace {

// `choose(a, b)` of what both know, or what one of them does.
template <class T, class Choose>
void take_up(const std::optional<T>& more, std::optional<T>& found, const Choose& choose) {
  if (more) {
    found = found ? choose(*found, *more) : *more;
  }
}

}  // namespace

Conditions together(Conditions one, const Conditions& other) {
  const auto lower = [](int a, int b) { return std::min(a, b); };
  take_up(other.gpu_sm_mhz, one.gpu_sm_mhz, lower);
  take_up(other.gpu_memory_mhz, one.gpu_memory_mhz, lower);
  take_up(other.throttle, one.throttle, [](std::vector<std::string> all, const auto& more) {
    std::copy_if(more.begin(), more.end(), std::back_inserter(all), [&](const std::string& reason) {
      return std::find(all.begin(), all.end(), reason) == all.end();
    });
    return all;
  });
  take_up(other.link, one.link, [](const NvmlLinkState& a, const NvmlLinkState& b) {
    // Each generation is about twice as fast.
    const auto rate = [](const NvmlLinkState& link) { return std::ldexp(link.width, link.generation); };
    return rate(b) < rate(a) ? b : a;
  });
  take_up(other.ecc_errors, one.ecc_errors, std::plus<>{});
  return one;
}

Conditions read_conditions(int cpu, const Nvml* nvml, const std::vector<std::string>& uuids,
                           const std::filesystem::path& root) {
  Conditions found;
  for (const std::string& uuid : uuids) {
    if (nvml != nullptr) {
      Conditions gpu;
      nvml->add_conditions(uuid, gpu);
      found = together(std::move(found), gpu);
    }
  }
  const auto steered = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cpufreq";
  found.governor = sysfs::read_text(steered / "scaling_governor");
  if (const auto khz = sysfs::read_unsigned(steered / "scaling_cur_freq")) {
    found.cpu_mhz = static_cast<int>(*khz / 1000);
  }
  return found;
}

std::optional<int> measured_cpu_mhz() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int kTries = 4;
  constexpr int kTurns = 10000;  // some 25 µs, beside which reading the time is nothing
  constexpr int kAdditions = 8;  // a turn; counting turns goes on beside them
  std::uint64_t sum = 0;
  const std::uint64_t one = 1;
  double least_s = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const double start_s = steady_now_s();
    for (int turn = 0; turn < kTurns; ++turn) {
      // Of registers: of constants some processors do several at once while they rename registers.
      // NOLINTNEXTLINE(hicpp-no-assembler): of a sum a compiler makes one multiplication
      asm volatile(
#if defined(__x86_64__)
          ".rept 8\n\tadd %1, %0\n\t.endr"
#else
          ".rept 8\n\tadd %0, %0, %1\n\t.endr"
#endif
          : "+&r"(sum)
          : "r"(one));
    }
    least_s = std::min(least_s, steady_now_s() - start_s);
  }
  return static_cast<int>(std::lround(1e-6 * kAdditions * kTurns / least_s));
#else
  return std::nullopt;
#endif
}

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

namespace {

// A line that two threads hand to each other: an even number is the first one's turn, an odd one the other's.
class Line {
 public:
  // Waits for the turn; false where it does not come in time.
  bool await(std::uint32_t turn) {
    constexpr int kBetweenLooks = 1 << 12;
    for (int spins = 0; turn_.load(std::memory_order_acquire) != turn; ++spins) {
      if (spins % kBetweenLooks == kBetweenLooks - 1 && steady_now_s() > deadline_s_) {
        return false;
      }
    }
    return true;
  }
  void give(std::uint32_t turn) { turn_.store(turn, std::memory_order_release); }

 private:
  static constexpr double kPatience_s = 0.02;

  alignas(128) std::atomic<std::uint32_t> turn_{0};
  alignas(128) double deadline_s_ = steady_now_s() + kPatience_s;
};

// Seconds from one CPU to another, there and back halved.
std::optional<double> handed_over_s(int from, int to) {
  constexpr std::uint32_t kTries = 8;
  constexpr std::uint32_t kTurns = 100;  // a try
  Line line;
  std::thread other;
  try {
    other = std::thread([&line, to] {
      const OnCpu there(to);
      for (std::uint32_t turn = 1; turn < 2 * kTries * kTurns && line.await(turn); turn += 2) {
        line.give(turn + 1);
      }
    });
  } catch (const std::system_error&) {  // as many threads as may be
    return std::nullopt;
  }
  std::optional<double> least_s;
  bool answered = true;
  {
    const OnCpu here(from);
    for (std::uint32_t turn = 0; answered && turn < 2 * kTries * kTurns;) {
      const double start_s = steady_now_s();
      for (std::uint32_t i = 0; i < kTurns && answered; ++i, turn += 2) {
        line.give(turn + 1);
        answered = line.await(turn + 2);
      }
      const double took_s = (steady_now_s() - start_s) / (2 * kTurns);
      least_s = std::min(took_s, least_s.value_or(took_s));
    }
  }
  other.join();
  return answered ? least_s : std::nullopt;
}

}  // namespace

std::optional<double> cache_line_ns(const std::vector<int>& cpus) {
  const std::size_t asked = std::min(cpus.size(), kMostAsked);
  double sum_s = 0;
  for (std::size_t i = 1; i < asked; ++i) {
    const auto took_s = handed_over_s(cpus.front(), cpus[i]);
    if (!took_s) {
      return std::nullopt;
    }
    sum_s += *took_s;
  }
  return asked < 2 ? std::nullopt : std::optional(1e9 * sum_s / static_cast<double>(asked - 1));
}

namespace {

// The eighth number of a CPU's line in /proc/stat.

constexpr int kStolen = 8;  // after user, nice, system, idle, iowait, irq and softirq

// Ticks that stand in the line of one CPU: `cpu3 1 2 3 …`.
std::optional<std::uint64_t> ticks_of(const std::string& stat, int cpu) {
  const std::string name = "cpu" + std::to_string(cpu) + " ";
  const std::size_t at = stat.rfind("\n" + name);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream numbers(
      stat.substr(at + 1 + name.size(), stat.find('\n', at + 1) - at - 1 - name.size()));
  std::uint64_t ticks = 0;
  for (int i = 0; i < kStolen; ++i) {
    if (!(numbers >> ticks)) {
      return std::nullopt;
    }
  }
  return ticks;
}

}  // namespace

std::optional<double> stolen_s(const std::vector<int>& cpus, const std::filesystem::path& root) {
  const auto stat = sysfs::read_text(root / "proc/stat");
  const long ticks_a_second = sysconf(_SC_CLK_TCK);
  if (!stat || ticks_a_second <= 0) {
    return std::nullopt;
  }
  std::uint64_t all = 0;
  for (const int cpu : cpus) {
    const auto ticks = ticks_of(*stat, cpu);
    if (!ticks) {
      return std::nullopt;
    }
    all += *ticks;
  }
  return static_cast<double>(all) / static_cast<double>(ticks_a_second);
}

}  // namespace grainscope
