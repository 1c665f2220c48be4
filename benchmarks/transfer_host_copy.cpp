// transfer/host_copy: what does the runtime's own copy reach from ordinary memory to page-locked memory?
//
// Timed: one cudaMemcpyAsync from host to host, from the call until an event behind it has completed, on the
// host's clock: a CPU copies. Not timed: allocation, page-locking, filling, flushing, checking.
// Bytes: the copy's size. Source: Comm|Scope's Comm_cudaMemcpyAsync_HostToPinned (c3sr/comm_scope,
// src/cudaMemcpyAsync), which takes the time by events.
// Limits: one copy at a time, called from the source's node; what libc's memcpy reaches is host/memcpy.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/transfer/mover.hpp"
#include "host_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::HostCopy;

const char* const kFamily = "transfer/host_copy";

Measurement measure(Session& session, const HostCopy& copy) {
  Measurement measurement =
      harness::measure(session, [&] { return transfer::make_host_copy_mover(copy, session.surroundings()); },
                       {.limit = cpu_limit(1)});
  measurement.bytes = copy.bytes;
  return measurement;
}

Benchmark make_benchmark(const Machine& machine, const GpuTarget& gpu, const HostCopy& copy) {
  Benchmark benchmark;
  benchmark.id = {kFamily,
                  {{"path", "pageable_to_pinned", AxisStyle::bare},
                   {"flush", copy.flush ? "on" : "off"},
                   {"locality", node_locality(machine, copy.from_node, copy.to_node), AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(copy.bytes)}},
                  {{"from_node", copy.from_node}, {"to_node", copy.to_node}, {"gpu", gpu.ordinal}}};
  benchmark.needs = {2 * copy.bytes, 0, 0};
  benchmark.skip = gpu.unavailable;
  if (copy.flush && !can_flush()) {
    benchmark.skip_for("this processor has no instruction that evicts a cache line from user space");
  }
  benchmark.explanation = {
      "the bandwidth of the runtime's copy from ordinary memory to page-locked memory",
      "one cudaMemcpyAsync from host to host, until an event behind it has completed, on the host's clock",
      "bandwidth = bytes / median time", "Comm|Scope, Comm_cudaMemcpyAsync_HostToPinned",
      "one copy at a time, called from the source's node"};
  benchmark.run = [copy](Session& session) { return measure(session, copy); };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  if (scope.gpus.empty()) {
    return benchmarks;
  }
  // No GPU has a part in it: one stream is as good as another.
  const GpuTarget& gpu = scope.gpus.front();
  for (const int from : scope.nodes) {
    for (const int to : scope.nodes) {
      for (const Grid& grid : grids) {
        for (const Values& values : grid.points()) {
          benchmarks.push_back(make_benchmark(
              machine, gpu, {from, to, gpu.ordinal, values.on("flush"), values.number("bytes")}));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family transfer_host_copy() {
  return {
      kFamily,
      "What does the runtime's own copy reach from ordinary memory to page-locked memory?",
      {word_axis("path", "from which kind of memory to which", {"pageable_to_pinned"}, "pageable_to_pinned"),
       switch_axis("flush", "whether both buffers are evicted from the CPU's caches before"),
       size_axis("bytes", "bytes copied", {1, 1024 * kGiB})},
      list};
}

}  // namespace grainscope::harness
