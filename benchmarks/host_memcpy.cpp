// host/memcpy: how fast do the CPUs of one node copy memory from that node to another?
//
// Timed: `threads` threads on CPUs of `from_node`, each copying its part with memcpy, from their common
// start to the last one's end, on the host's clock. Not timed: allocation, filling, flushing, checking.
// Bytes: the copy's size, counted once (the memory sees it at least twice: a read and a write).
// Source: Comm|Scope's NUMA family and section 2.2.4 (caches flushed or not).
// Limits: libc's memcpy, which switches to non-temporal stores at a size of its own choice.

#include <cstring>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "host_case.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint32_t kPayload = 1;
constexpr std::uint32_t kPoison = 2;

struct Copy {
  int from_node = 0;
  int to_node = 0;
  int threads = 1;
  bool flush = false;
  std::uint64_t bytes = 0;
};

Measurement measure(Session& session, const Copy& copy) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, copy.from_node);
  const HostMemory source(topology, {.bytes = copy.bytes, .node = copy.from_node});
  const HostMemory destination(topology, {.bytes = copy.bytes, .node = copy.to_node});
  verify_placement(source.data(), copy.bytes, copy.from_node);
  verify_placement(destination.data(), copy.bytes, copy.to_node);
  const std::uint64_t words = copy.bytes / sizeof(std::uint32_t);
  fill_pattern(source.as<std::uint32_t>(), words, kPayload);
  fill_pattern(destination.as<std::uint32_t>(), words, kPoison);
  ThreadTeam team(copy.threads, cpus_of(session.machine(), copy.from_node));

  const auto prepare = [&] {
    if (copy.flush) {
      flush_cache(source.data(), copy.bytes, copy.threads);
      flush_cache(destination.data(), copy.bytes, copy.threads);
    }
  };
  const auto run = [&] {
    return team.run([&](int worker) {
      // Whole lines, so that no two workers write to one.
      const Share lines = share_of(copy.bytes / 64, worker, team.size());
      std::memcpy(destination.as<std::byte>() + lines.first * 64, source.as<std::byte>() + lines.first * 64,
                  (lines.last - lines.first) * 64);
    });
  };
  const auto verify = [&] {
    if (const auto wrong = find_mismatch(destination.as<std::uint32_t>(), words, kPayload)) {
      throw FailedError("wrong result: word " + std::to_string(*wrong) + " was not copied");
    }
    return "every word at the destination, which held other data before";
  };
  LocalOperation copies({.prepare = prepare,
                         .run = run,
                         .verify = verify,
                         .timing = {Clock::steady, false,
                                    "memcpy by all threads, from their common start to the last one's end"},
                         .on_callers_thread = copy.threads == 1});
  Measurement measurement = harness::measure(session, copies, {.limit = cpu_limit(copy.threads)});
  measurement.bytes = copy.bytes;
  return measurement;
}

Benchmark make_benchmark(const Machine& machine, const Copy& copy) {
  Benchmark benchmark;
  benchmark.id = {"host/memcpy",
                  {{"flush", copy.flush ? "on" : "off"},
                   {"threads", std::int64_t{copy.threads}},
                   {"locality", node_locality(machine, copy.from_node, copy.to_node), AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(copy.bytes)}},
                  {{"from_node", copy.from_node}, {"to_node", copy.to_node}}};
  benchmark.needs = {2 * copy.bytes, 0, 0};
  if (copy.flush && !can_flush()) {
    benchmark.skip = "this processor has no instruction that evicts a cache line from user space";
  }
  benchmark.explanation = {
      "the bandwidth of a host-side copy, the floor under every pageable transfer",
      "memcpy by all threads, from their common start to the last one's end, on the host's clock",
      "bandwidth = bytes copied / median time; memory moves at least twice as much",
      "Comm|Scope, NUMA family and section 2.2.4",
      "libc's memcpy switches to non-temporal stores at a size of its own choice"};
  benchmark.run = [copy](Session& session) { return measure(session, copy); };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int from : scope.nodes) {
    for (const int to : scope.nodes) {
      for (const Grid& grid : grids) {
        for (const Values& values : grid.points(cpus_by_name(machine, from))) {
          benchmarks.push_back(make_benchmark(machine, {from, to, values.number_as<int>("threads"),
                                                        values.on("flush"), values.number("bytes")}));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_memcpy() {
  return {"host/memcpy",
          "How fast do the CPUs of one node copy memory to another, cached and not?",
          {threads_axis("threads that copy, each its part"),
           switch_axis("flush", "whether both buffers are evicted from the CPU's caches before every sample"),
           size_axis("bytes", "bytes copied", {64, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
