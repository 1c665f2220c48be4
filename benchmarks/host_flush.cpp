// host/flush: what does it cost to evict a buffer from the CPU's caches, a line at a time?
//
// Timed: the flush of a buffer by one thread, on the host's clock, when its lines are dirty in the cache
// (`cached`) and when they have just been evicted (`evicted`). Operations: cache lines.
// Source: Comm|Scope, section 2.2.4; its flush evicts the wrong line, and the chase here would show that.
// Limits: one thread; a large buffer's lines are not all in a cache to begin with.

#include <algorithm>
#include <limits>
#include <vector>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/pattern.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "host_case.hpp"

namespace grainscope::harness {
namespace {

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

Measurement measure(Session& session, int node, bool cached, std::uint64_t bytes) {
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
                          .on_callers_thread = true});
  Measurement measurement = harness::measure(session, flushes);
  measurement.counters["load_time_ratio"] = ratio;
  measurement.operations = bytes / cache_line_bytes();
  measurement.minimum_operation_s = 1 / 6e9;
  return measurement;
}

std::vector<Benchmark> list(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
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
        benchmark.explanation = {"what it costs to evict a buffer from every cache, a line",
                                 "the flush of the whole buffer by one thread, fences included",
                                 "operation time = median time / lines", "Comm|Scope, section 2.2.4",
                                 "one thread; the lines of a large buffer are not all cached to begin with"};
        benchmark.run = [node, cached, bytes](Session& session) {
          return measure(session, node, cached, bytes);
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
          "What does it cost to evict a buffer from the CPU's caches?",
          {word_axis("state", "where its lines are before: dirty in the cache, or evicted",
                     {"cached", "evicted"}),
           size_axis("bytes", "bytes of the buffer", {64, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
