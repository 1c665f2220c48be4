#include "case.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"

namespace grainscope::harness {
namespace {

const char* const kBasePages = "base";

constexpr double kWatch_s =
    20e-3;  // a limit is the fastest of as many passes as fit in, and of some at least
constexpr int kFewestPasses = 3;
constexpr int kMostPasses = 512;

// The shortest of several passes.
double shortest_s(const std::function<double()>& pass) {
  double shortest = std::numeric_limits<double>::infinity();
  const double begun_s = steady_now_s();
  for (int i = 0; i < kMostPasses && (i < kFewestPasses || steady_now_s() - begun_s < kWatch_s); ++i) {
    shortest = std::min(shortest, pass());
  }
  return shortest;
}

}  // namespace

std::vector<int> cpus_of(const Machine& machine, int node) {
  const Node* place = machine.topology.find_node(node);
  if (place == nullptr || place->allowed_cpus.empty()) {
    throw SkipError("this process may use no CPU of NUMA node " + std::to_string(node));
  }
  return place->allowed_cpus;
}

double cycle_s() {
  // The shortest that this process has seen: a neighbour on the core makes cycles look longer.
  static std::atomic<double> least = std::numeric_limits<double>::infinity();
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
  double known = least;
  while (seconds / kAdditions < known && !least.compare_exchange_weak(known, seconds / kAdditions)) {
  }
  return least;
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
