// host/first_touch: what does it cost to get memory from the kernel, page by page?
//
// Timed: threads that write one byte to each page of a fresh mapping, from their common start to the last
// one's end, on the host's clock. Not timed: mmap and munmap. Bytes: the mapping; operations: its pages.
// Source: every figure that includes a first touch by mistake; Comm|Scope initialises buffers to avoid it.
// Limits: a kernel under memory pressure reclaims first, which this does not provoke.

#include <optional>

#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/numa.hpp"
#include "grainscope/system/placement.hpp"
#include "host_case.hpp"

namespace grainscope::harness {
namespace {

// Smaller than this there may be no huge page to touch.
constexpr std::uint64_t kSmallest = 4 * kMiB;

struct Touch {
  int node = 0;
  PageKind pages = PageKind::base;
  int threads = 1;
  std::uint64_t bytes = 0;
};

Measurement measure(Session& session, const Touch& touch) {
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
                          .on_callers_thread = touch.threads == 1});
  // The kernel clears a page before it hands it out: no faster than the CPU writes.
  Measurement measurement = harness::measure(session, touches, {.limit = cpu_limit(touch.threads)});
  measurement.bytes = touch.bytes;
  measurement.operations = pages;
  return measurement;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
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
        benchmark.explanation = {"what the kernel takes to hand out memory, page by page",
                                 "threads that write one byte to each page of a fresh mapping; not mmap",
                                 "bandwidth = bytes / median time; operation time = median time / pages",
                                 "a cost that Comm|Scope avoids by initialising buffers",
                                 "memory pressure is not provoked"};
        benchmark.run = [touch](Session& session) { return measure(session, touch); };
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
      "What does the first touch of fresh memory cost, by kind of page?",
      {pages_axis("pages of the mapping", {PageKind::base, PageKind::transparent_huge, PageKind::hugetlb}),
       threads_axis("threads that touch, each its part"),
       size_axis("bytes", "bytes of the mapping", {kSmallest, 1024 * kGiB})},
      list};
}

}  // namespace grainscope::harness
