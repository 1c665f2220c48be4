#include "case.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/core/units.hpp"

namespace grainscope::harness {
namespace {

const char* const kBasePages = "base";

// By which a measured limit may fall short of what the CPUs can do.
constexpr double kShort = 1.25;
constexpr double kWatch_s =
    20e-3;  // a limit is the fastest of as many passes as fit in, and of some at least
constexpr int kFewestPasses = 3;
constexpr int kMostPasses = 512;
constexpr std::uint64_t kLargestRead = 64 * kMiB;

// The shortest of several passes.
double shortest_s(const std::function<double()>& pass) {
  double shortest = std::numeric_limits<double>::infinity();
  const double begun_s = steady_now_s();
  for (int i = 0; i < kMostPasses && (i < kFewestPasses || steady_now_s() - begun_s < kWatch_s); ++i) {
    shortest = std::min(shortest, pass());
  }
  return shortest;
}

// Eight cache lines a round, which no load waits for another in.
[[gnu::always_inline]] inline std::uint64_t add_up(const std::uint64_t* words, std::size_t count) {
  constexpr std::size_t kRound = 64;
  std::uint64_t sums[kRound] = {};
  std::size_t i = 0;
  for (; i + kRound <= count; i += kRound) {
    for (std::size_t j = 0; j < kRound; ++j) {
      sums[j] ^= words[i + j];
    }
  }
  std::uint64_t all = 0;
  for (; i < count; ++i) {
    all ^= words[i];
  }
  for (const std::uint64_t sum : sums) {
    all ^= sum;
  }
  return all;
}

#ifdef __x86_64__
// As wide as libc's copies read.
[[gnu::target("avx2")]] std::uint64_t add_up_wide(const std::uint64_t* words, std::size_t count) {
  return add_up(words, count);
}
#endif

std::uint64_t read_all(const std::uint64_t* words, std::size_t count) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) {
    return add_up_wide(words, count);
  }
#endif
  return add_up(words, count);
}

PhysicalLimit measured_limit(std::uint64_t bytes, double seconds, const std::string& what) {
  return {kShort * gb_per_s(static_cast<double>(bytes), seconds), what};
}

}  // namespace

std::vector<int> cpus_of(const Machine& machine, int node) {
  const Node* place = machine.topology.find_node(node);
  if (place == nullptr || place->allowed_cpus.empty()) {
    throw SkipError("this process may use no CPU of NUMA node " + std::to_string(node));
  }
  return place->allowed_cpus;
}

PhysicalLimit read_limit(ThreadTeam& team, const void* data, std::uint64_t bytes,
                         const std::function<void()>& prepare) {
  constexpr std::size_t kWords = 8;  // of a line
  const auto* const words = static_cast<const std::uint64_t*>(data);
  std::atomic<std::uint64_t> used{0};
  const double seconds = shortest_s([&] {
    prepare();
    return team.run([&](int worker) {
      const Share lines = share_of(bytes / 64, worker, team.size());
      used += read_all(words + lines.first * kWords, (lines.last - lines.first) * kWords);
    });
  });
  return measured_limit(
      bytes, seconds,
      "reading by " + std::to_string(team.size()) + " CPU thread(s), measured, and a quarter");
}

PhysicalLimit read_limit(const Machine& machine, int threads, const std::vector<int>& cpus, int node,
                         std::uint64_t bytes) {
  const std::uint64_t read = std::clamp<std::uint64_t>(bytes / 64 * 64, 64, kLargestRead);
  const HostMemory memory(machine.topology, {.bytes = read, .node = node});
  ThreadTeam team(threads, cpus);
  return read_limit(team, memory.data(), read, [] {});
}

PhysicalLimit write_limit(ThreadTeam& team, void* data, std::uint64_t bytes, std::uint64_t at_once,
                          Pieces which) {
  const double seconds = shortest_s([&] {
    return team.run([&](int worker) {
      const Share pieces = share_of(bytes / at_once, worker, team.size());
      for (std::size_t i = pieces.first; i < pieces.last; ++i) {
        const std::size_t piece = which == Pieces::each ? i : pieces.first;
        std::memset(static_cast<std::byte*>(data) + piece * at_once, 1, at_once);
      }
    });
  });
  return measured_limit(
      bytes / at_once * at_once, seconds,
      "writing by " + std::to_string(team.size()) + " CPU thread(s), measured, and a quarter");
}

double cycle_s() {
  constexpr int kAdditions = 1 << 14;
  const double seconds = shortest_s([] {
    const double start_s = steady_now_s();
    std::uint64_t sum = 1;
    for (int i = 0; i < kAdditions; ++i) {
      asm volatile("" : "+r"(sum));  // each addition is made, in a register
      sum += 3;
    }
    asm volatile("" : : "r"(sum));
    return steady_now_s() - start_s;
  });
  return seconds / kAdditions;
}

std::string node_locality(const Machine& machine, int from, int to) {
  if (!machine.topology.numa_known()) {
    return "unknown";
  }
  return from == to ? "local" : "remote";
}

DeclaredAxis pages_axis(std::string means, const std::vector<PageKind>& kinds, std::string otherwise) {
  std::vector<std::string> words = names_of(kinds, page_kind_name);
  if (std::find(kinds.begin(), kinds.end(), PageKind::base) != kinds.end()) {
    words.emplace_back(kBasePages);
  }
  return word_axis("pages", std::move(means), std::move(words), std::move(otherwise));
}

PageKind page_kind_of(const std::string& word) {
  constexpr PageKind kAll[] = {PageKind::base, PageKind::transparent_huge, PageKind::hugetlb};
  return word == kBasePages ? PageKind::base : enumerator(word, kAll, page_kind_name);
}

NamedNumbers cpus_by_name(const Machine& machine, int node) {
  return {{"all", cpus_of(machine, node).size()}};
}

DeclaredAxis threads_axis(std::string means) {
  return number_axis("threads", std::move(means), {1, 4096}, "1", {}, {"all"});
}

}  // namespace grainscope::harness
