// host/latency: how long does a load take, by working set and by where memory is?
//
// Timed: a walk along a shuffled cycle of pointers, one load a cache line, each address the result of the
// load before, on the host's clock. Not timed: laying and checking the cycle. Operations: loads.
// Source: the method of lat_mem_rd (McVoy and Staelin, USENIX 1996); Comm|Scope, section 2.2.4, has the
// traps of flushing that such a walk shows.
// Limits: with base pages, large working sets include address translation; `pages` tells them apart.

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "host_case.hpp"

namespace grainscope::harness {
namespace {

constexpr std::size_t kSteps = 1 << 14;
// Two cycles at 6 GHz: below what any first-level cache answers in.
constexpr double kFastestLoad_s = 2 / 6e9;

constexpr std::uint64_t kSmallest = 4 * kKiB;

struct Walk {
  int cpu_node = 0;
  int memory_node = 0;
  PageKind pages = PageKind::base;
  std::uint64_t bytes = 0;
};

Measurement measure(Session& session, const Walk& walk) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, walk.cpu_node);
  const HostMemory memory(topology, {.bytes = walk.bytes, .node = walk.memory_node, .pages = walk.pages});
  if (walk.pages == PageKind::transparent_huge &&
      !is_transparent_huge(memory.data(), walk.bytes).value_or(true)) {
    throw SkipError("the kernel did not back " + format_bytes(walk.bytes) + " with transparent huge pages");
  }
  verify_placement(memory.data(), walk.bytes, walk.memory_node);
  PointerChase chase(memory.data(), walk.bytes, cache_line_bytes());
  const auto require_one_cycle = [&] {
    if (!chase.is_one_cycle()) {
      throw FailedError("wrong result: the pointers do not form one cycle through the working set");
    }
  };
  require_one_cycle();  // whatever caches can hold of it, they hold before the first sample

  const auto verify = [&] {
    require_one_cycle();
    return "the pointers form one cycle through every line";
  };
  LocalOperation walks({.run = [&] { return chase.walk(kSteps); },
                        .verify = verify,
                        .timing = {Clock::steady, false, "a walk of dependent loads"},
                        .on_callers_thread = true});
  Measurement measurement = harness::measure(session, walks);
  measurement.operations = kSteps;
  measurement.minimum_operation_s = kFastestLoad_s;
  return measurement;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int cpu_node : scope.nodes) {
    for (const int memory_node : scope.nodes) {
      for (const Grid& grid : grids) {
        for (const Values& values : grid.points()) {
          const Walk walk{cpu_node, memory_node, page_kind_of(values.word("pages")), values.number("bytes")};
          Benchmark benchmark;
          benchmark.id = {"host/latency",
                          {{"pages", page_kind_name(walk.pages)},
                           {"locality", node_locality(machine, cpu_node, memory_node), AxisStyle::hidden},
                           {"bytes", static_cast<std::int64_t>(walk.bytes)}},
                          {{"cpu_node", cpu_node}, {"memory_node", memory_node}}};
          benchmark.needs = {walk.bytes, 0, 0};
          benchmark.explanation = {"the time of one load, by size of the working set",
                                   "a walk along a shuffled cycle of pointers, one load a line",
                                   "operation time = median time / loads",
                                   "the method of lat_mem_rd (McVoy and Staelin 1996)",
                                   "with base pages, large working sets include address translation"};
          benchmark.run = [walk](Session& session) { return measure(session, walk); };
          benchmarks.push_back(std::move(benchmark));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_latency() {
  return {"host/latency",
          "How long does a load take, by working set, page size and node?",
          {pages_axis("pages of the working set", {PageKind::base, PageKind::transparent_huge}),
           size_axis("bytes", "working set", {kSmallest, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
