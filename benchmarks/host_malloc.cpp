// host/malloc: what does the C library's malloc cost, alone and with the first write to all of it?
//
// Timed: a batch of calls on the host's clock, one block after another; `malloc_and_fill` with a memset of
// each, in a process of its own. Not timed: writing to and checking both ends of every block, and free.
// Operations: blocks.
// Source: Comm|Scope's Comm_libc_malloc and Comm_libc_malloc_memset (c3sr/comm_scope, src/libc).
// Limits: of a process that allocates blocks of this size alone, and frees them all between two samples.
// glibc keeps 128 KiB of what is freed (from blocks of 128 KiB on twice a block) and gives the rest back to
// the kernel, so larger batches touch new pages; a program of many sizes keeps more. The pages' own cost is
// host/first_touch.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "host_case.hpp"
#include "malloc_worker.hpp"

namespace grainscope::harness {
namespace {

const char* const kAndFill = "malloc_and_fill";
constexpr double kFastestMalloc_s = 1e-9;

Measurement measure(Session& session, const MallocJob& job) {
  MallocWorker worker(job);
  LocalOperation batches(
      {.run = [&] { return worker.sample(); },
       .verify = [] { return "every block is its own, and keeps what is written to both its ends"; },
       .timing = {Clock::steady, false,
                  job.fills ? "malloc and a memset of all of it, one block after another"
                            : "malloc, one block after another"},
       .on_callers_thread = true});
  Measurement measurement = harness::measure(session, batches);
  measurement.operations = job.blocks();
  if (job.fills) {
    measurement.bytes = job.blocks() * job.bytes;
    measurement.limit = cpu_limit(1);
  } else {
    measurement.minimum_operation_s = kFastestMalloc_s;
  }
  return measurement;
}

Benchmark make_benchmark(const MallocJob& job) {
  Benchmark benchmark;
  benchmark.id = {"host/malloc",
                  {{"what", job.fills ? kAndFill : "malloc", AxisStyle::bare},
                   {"locality", "local", AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(job.bytes)}},
                  {{"node", job.node}}};
  benchmark.needs = {job.blocks() * job.bytes, 0, 0};
  benchmark.explanation = {
      job.fills ? "what a program pays for a block of memory and the first write to all of it"
                : "what a program pays for a block of memory that it has yet to write to",
      "a batch of calls on the host's clock; free and the use of the blocks are not in it",
      "operation time = median time / blocks", "Comm|Scope, Comm_libc_malloc and Comm_libc_malloc_memset",
      "a process that allocates blocks of this size alone and frees all between two samples: what malloc "
      "then gives back to the kernel comes in new pages, which a program that keeps memory does not pay"};
  benchmark.run = [job](Session& session) { return measure(session, job); };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  for (const int node : scope.nodes) {
    for (const Grid& grid : grids) {
      for (const Values& values : grid.points()) {
        benchmarks.push_back(make_benchmark({values.is("what", kAndFill), node, values.number("bytes")}));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family host_malloc() {
  return {"host/malloc",
          "What does the C library's malloc cost, alone and with a first write to all of it?",
          {word_axis("what", "whether each block is written to as well", {"malloc", kAndFill}),
           size_axis("bytes", "bytes of a block", {1, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
