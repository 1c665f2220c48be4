// The families of host memory: host/memcpy, latency, first_touch and flush. Each part opens with its
// question.

#include "grainscope/system/host_memory.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"

namespace grainscope::harness {
namespace {

// What passes around a sample is told of one thread: several are woken first, which takes longer than many
// copies.
std::function<std::optional<double>(double)> of_one_thread(int threads) {
  return [threads](double run_s) { return threads == 1 ? std::optional(run_s) : std::nullopt; };
}

// host/memcpy

constexpr About kAboutHostMemcpy{
    .question = "How fast do the CPUs of one node copy memory to another, cached and not?",
    .timed =
        "`threads` threads on CPUs of `from_node`, each copying its part with memcpy, from their common "
        "start to the last one's end, on the host's clock. Not timed: allocation, filling, flushing, "
        "checking",
    .formula =
        "bandwidth = bytes copied / median time; bytes count once, and the memory sees them at least twice: "
        "a read and a write",
    .source = "Comm|Scope's NUMA family and section 2.2.4 (caches flushed or not)",
    .limits = "libc's memcpy, which switches to non-temporal stores at a size of its own choice",
};

constexpr std::uint32_t kPayload = 1;
constexpr std::uint32_t kPoison = 2;

struct Copy {
  int from_node = 0;
  int to_node = 0;
  int threads = 1;
  bool flush = false;
  std::uint64_t bytes = 0;
};

Measurement measure_memcpy(Session& session, const Copy& copy) {
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
                         .on_callers_thread = copy.threads == 1,
                         .around_s = of_one_thread(copy.threads)});
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
  benchmark.run = [copy](Session& session) { return measure_memcpy(session, copy); };
  return benchmark;
}

std::vector<Benchmark> list_memcpy(const Machine& machine, const Scope& scope, const Grids& grids) {
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
          kAboutHostMemcpy,
          {threads_axis("threads that copy, each its part"),
           switch_axis("flush", "whether both buffers are evicted from the CPU's caches before every sample"),
           size_axis("bytes", "bytes copied", {64, 1024 * kGiB})},
          list_memcpy};
}

namespace {

// host/latency

constexpr About kAboutHostLatency{
    .question = "How long does a load take, by working set, page size and node?",
    .timed =
        "a walk along a shuffled cycle of pointers, one load a cache line, each address the result of the "
        "load before, on the host's clock. Not timed: laying and checking the cycle",
    .formula = "operation time = median time / loads",
    .source =
        "the method of lat_mem_rd (McVoy and Staelin, USENIX 1996); Comm|Scope, section 2.2.4, has the traps "
        "of flushing that such a walk shows",
    .limits = "with base pages, large working sets include address translation; `pages` tells them apart",
};

constexpr std::size_t kSteps = 1 << 14;
constexpr int kFewestCycles = 3;  // of a load: below what any first-level cache answers in

constexpr std::uint64_t kLatencySmallest = 4 * kKiB;

struct Walk {
  int cpu_node = 0;
  int memory_node = 0;
  PageKind pages = PageKind::base;
  std::uint64_t bytes = 0;
};

Measurement measure_latency(Session& session, const Walk& walk) {
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
  static_cast<void>(cycle_s());  // the shortest counts, of before the samples and after them
  require_one_cycle();           // whatever caches can hold of it, they hold before the first sample

  const auto verify = [&] {
    require_one_cycle();
    return "the pointers form one cycle through every line";
  };
  LocalOperation walks({.run = [&] { return chase.walk(kSteps); },
                        .verify = verify,
                        .timing = {Clock::steady, false, "a walk of dependent loads"},
                        .on_callers_thread = true,
                        .around_s = all_of_run});
  Measurement measurement = harness::measure(session, walks);
  measurement.operations = kSteps;
  measurement.limit =
      PhysicalLimit{0, "a load of three cycles of this CPU, measured", kFewestCycles * cycle_s()};
  return measurement;
}

std::vector<Benchmark> list_latency(const Machine& machine, const Scope& scope, const Grids& grids) {
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
          benchmark.run = [walk](Session& session) { return measure_latency(session, walk); };
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
          kAboutHostLatency,
          {pages_axis("pages of the working set", {PageKind::base, PageKind::transparent_huge}),
           size_axis("bytes", "working set", {kLatencySmallest, 1024 * kGiB})},
          list_latency};
}

namespace {

// host/first_touch

constexpr About kAboutHostFirstTouch{
    .question = "What does the first touch of fresh memory cost, by kind of page?",
    .timed =
        "threads that write one byte to each page of a fresh mapping, from their common start to the last "
        "one's end, on the host's clock. Not timed: mmap and munmap",
    .formula = "bandwidth = bytes of the mapping / median time; operation time = median time / pages",
    .source =
        "every figure that includes a first touch by mistake; Comm|Scope initialises buffers to avoid it",
    .limits = "a kernel under memory pressure reclaims first, which this does not provoke",
};

// Smaller than this there may be no huge page to touch.
constexpr std::uint64_t kFirstTouchSmallest = 4 * kMiB;

struct Touch {
  int node = 0;
  PageKind pages = PageKind::base;
  int threads = 1;
  std::uint64_t bytes = 0;
};

Measurement measure_first_touch(Session& session, const Touch& touch) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, touch.node);
  ThreadTeam team(touch.threads, cpus_of(session.machine(), touch.node));
  std::optional<HostMemory> memory;
  const std::size_t page = page_bytes(touch.pages);
  const std::size_t pages = touch.bytes / page;

  const auto prepare = [&] {
    memory.reset();
    memory.emplace(topology,
                   HostMemoryRequest{
                       .bytes = touch.bytes, .node = touch.node, .pages = touch.pages, .touch_threads = 0});
  };
  const auto run = [&] {
    volatile std::byte* data = memory->as<std::byte>();
    return team.run([&](int worker) {
      const Share share = share_of(pages, worker, team.size());
      for (std::size_t i = share.first; i < share.last; ++i) {
        data[i * page] = std::byte{1};
      }
    });
  };
  const auto verify = [&] {
    if (touch.pages == PageKind::transparent_huge &&
        !is_transparent_huge(memory->data(), touch.bytes).value_or(true)) {
      throw SkipError(
          "the kernel did not grant transparent huge pages: see /sys/kernel/mm/transparent_hugepage");
    }
    const bool known = verify_placement(memory->data(), touch.bytes, touch.node) == PlacementCheck::verified;
    const auto presence = pages_present(memory->data(), touch.bytes);
    if (presence && presence->absent > 0) {
      throw FailedError("wrong result: " + std::to_string(presence->absent) +
                        " pages are not there after the touch");
    }
    return known ? "every page looked at is there, and on the node" : "every page looked at is there";
  };
  LocalOperation touches({.prepare = prepare,
                          .run = run,
                          .verify = verify,
                          .timing = {Clock::steady, false, "threads that write one byte to each page"},
                          .on_callers_thread = touch.threads == 1,
                          .around_s = of_one_thread(touch.threads)});
  // The kernel clears a page before it hands it out: no faster than the CPU writes.
  Measurement measurement = harness::measure(session, touches, {.limit = cpu_limit(touch.threads)});
  measurement.bytes = touch.bytes;
  measurement.operations = pages;
  return measurement;
}

std::vector<Benchmark> list_first_touch(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int node : scope.nodes) {
    for (const Grid& grid : grids) {
      for (const Values& values : grid.points(cpus_by_name(machine, node))) {
        const Touch touch{node, page_kind_of(values.word("pages")), values.number_as<int>("threads"),
                          values.number("bytes")};
        Benchmark benchmark;
        benchmark.id = {"host/first_touch",
                        {{"pages", page_kind_name(touch.pages)},
                         {"threads", std::int64_t{touch.threads}},
                         {"locality", "local", AxisStyle::hidden},
                         {"bytes", static_cast<std::int64_t>(touch.bytes)}},
                        {{"node", node}}};
        benchmark.needs = {touch.bytes, 0, 0};
        benchmark.run = [touch](Session& session) { return measure_first_touch(session, touch); };
        benchmarks.push_back(std::move(benchmark));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_first_touch() {
  return {
      "host/first_touch",
      kAboutHostFirstTouch,
      {pages_axis("pages of the mapping", {PageKind::base, PageKind::transparent_huge, PageKind::hugetlb}),
       threads_axis("threads that touch, each its part"),
       size_axis("bytes", "bytes of the mapping", {kFirstTouchSmallest, 1024 * kGiB})},
      list_first_touch};
}

namespace {

// host/flush

constexpr About kAboutHostFlush{
    .question = "What does it cost to evict a buffer from the CPU's caches?",
    .timed =
        "the flush of a buffer by one thread, on the host's clock, when its lines are dirty in the cache "
        "(`cached`) and when they have just been evicted (`evicted`)",
    .formula = "operation time = median time / cache lines",
    .source =
        "Comm|Scope, section 2.2.4; its flush evicts the wrong line, and the chase here would show that",
    .limits = "one thread; a large buffer's lines are not all in a cache to begin with",
};

// What else the machine runs makes a walk longer, never shorter: so the shortest of many rounds counts, and
// on a machine that is never quiet for so long there are more of them.
constexpr int kProofRounds = 9;
constexpr int kMostProofRounds = 1000;
constexpr double kProofRatio = 5;

// How many times longer a load takes after a flush than with everything in the second-level cache.
double flush_ratio(const Topology& topology, int node) {
  const std::uint64_t bytes =
      std::min<std::uint64_t>(256 * kKiB, topology.cache_bytes(2).value_or(512 * kKiB) / 2);
  const HostMemory memory(topology, {.bytes = bytes, .node = node});
  PointerChase chase(memory.data(), bytes, cache_line_bytes());
  double warm_s = std::numeric_limits<double>::infinity();
  double flushed_s = warm_s;
  double ratio = 0;
  for (int round = 0; round < kProofRounds || (ratio < kProofRatio && round < kMostProofRounds); ++round) {
    static_cast<void>(chase.walk(chase.lines()));
    warm_s = std::min(warm_s, chase.walk(chase.lines()));
    flush_cache(memory.data(), bytes);
    flushed_s = std::min(flushed_s, chase.walk(chase.lines()));
    ratio = flushed_s / warm_s;
  }
  return ratio;
}

Measurement measure_flush(Session& session, int node, bool cached, std::uint64_t bytes) {
  const Topology& topology = session.machine().topology;
  const NodeBinding binding(topology, node);
  const HostMemory memory(topology, {.bytes = bytes, .node = node});
  const std::uint64_t words = bytes / sizeof(std::uint32_t);
  const auto prepare = [&] {
    if (cached) {
      fill_pattern(memory.as<std::uint32_t>(), words, 1);
    } else {
      flush_cache(memory.data(), bytes);
    }
  };
  const auto run = [&] {
    const double start_s = steady_now_s();
    flush_cache(memory.data(), bytes);
    return steady_now_s() - start_s;
  };
  double ratio = 0;
  const auto verify = [&] {
    ratio = flush_ratio(topology, node);
    if (ratio < kProofRatio) {
      throw FailedError("the flush does not evict: a load takes only " + std::to_string(ratio) +
                        " times as long after it as before");
    }
    return "loads along a shuffled chain take at least 5 times as long after the flush";
  };
  LocalOperation flushes({.prepare = prepare,
                          .run = run,
                          .verify = verify,
                          .timing = {Clock::steady, false, "the flush of the whole buffer by one thread"},
                          .on_callers_thread = true,
                          .around_s = all_of_run});
  Measurement measurement = harness::measure(session, flushes);
  measurement.counters["load_time_ratio"] = ratio;
  measurement.operations = bytes / cache_line_bytes();
  measurement.limit = PhysicalLimit{0, "a line a cycle of this CPU, measured", cycle_s()};
  return measurement;
}

std::vector<Benchmark> list_flush(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int node : scope.nodes) {
    for (const Grid& grid : grids) {
      for (const Values& values : grid.points()) {
        const bool cached = values.is("state", "cached");
        const std::uint64_t bytes = values.number("bytes");
        Benchmark benchmark;
        benchmark.id = {"host/flush",
                        {{"state", values.at("state"), AxisStyle::bare},
                         {"locality", "local", AxisStyle::hidden},
                         {"bytes", static_cast<std::int64_t>(bytes)}},
                        {{"node", node}}};
        benchmark.needs = {bytes, 0, 0};
        if (!can_flush()) {
          benchmark.skip = "this processor has no instruction that evicts a cache line from user space";
        }
        benchmark.run = [node, cached, bytes](Session& session) {
          return measure_flush(session, node, cached, bytes);
        };
        benchmarks.push_back(std::move(benchmark));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_flush() {
  return {"host/flush",
          kAboutHostFlush,
          {word_axis("state", "where its lines are before: dirty in the cache, or evicted",
                     {"cached", "evicted"}),
           size_axis("bytes", "bytes of the buffer", {64, 1024 * kGiB})},
          list_flush};
}

}  // namespace grainscope::harness
