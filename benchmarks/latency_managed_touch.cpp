// latency/managed_touch: what does the first touch of a managed page cost that lives on the other side?
//
// Timed: one touch in each of 64 blocks of 2 MiB, one after another, since each page read tells which is
// next: by a kernel of one thread between two events behind a closed gate, or by one CPU thread on the host's
// clock. Before each sample the pages are brought to the other side and shown to be there, after it they are
// shown to have come. Operations: touches. Source: the fault latency that bounds transfer/managed on demand;
// Comm|Scope, section 3.4. Limits: the driver moves more than the page touched (64 KiB and up), and that is
// in the time. Blocks are whole and on one side, so nothing is evicted and no page is made.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "latency_case.hpp"

namespace grainscope::harness {
namespace {

// A fault goes through the driver, by interrupt: no such thing takes less.
constexpr double kFastestFault_s = 500e-9;
constexpr std::uint64_t kBytes = 130 * kMiB;  // 64 blocks, and room to begin at a block's begin

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  for (const GpuTarget& gpu : scope.gpus) {
    for (const int node : scope.nodes_for(gpu)) {
      for (const bool to_gpu : {true, false}) {
        Benchmark benchmark;
        benchmark.id = {"latency/managed_touch",
                        {{"path", to_gpu ? "host_to_gpu" : "gpu_to_host", AxisStyle::bare},
                         {"locality", gpu.locality(node), AxisStyle::hidden}},
                        {{"numa", node}, {"gpu", gpu.ordinal}}};
        benchmark.skip = gpu.unavailable;
        benchmark.skip_for(why_no_migration(machine, gpu.ordinal));
        benchmark.needs = {kBytes, 0, kBytes};
        benchmark.explanation = {
            to_gpu ? "the fault of a GPU on a managed page that lives on the host, and its migration"
                   : "the fault of a CPU on a managed page that lives on the GPU, and its migration",
            to_gpu
                ? "a kernel of one thread that reads a page in each of 64 blocks of 2 MiB, each telling the "
                  "next, between two events behind a closed gate"
                : "one CPU thread that reads a page in each of 64 blocks of 2 MiB, each telling the next",
            "operation time = median time / touches",
            "Comm|Scope, section 3.4: what bounds migration on demand",
            "the driver moves more than the page touched, and that is in the time"};
        const cuda::TouchSpec spec{to_gpu, gpu.ordinal, node};
        benchmark.run = probe_body(
            [spec](const transfer::Surroundings& around) {
              return cuda::make_managed_touch(spec, *around.topology, *around.managed);
            },
            gpu.ordinal, kFastestFault_s);
        benchmarks.push_back(std::move(benchmark));
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family latency_managed_touch() {
  return {"latency/managed_touch", "What does the first touch of a managed page cost, each way?", list};
}

}  // namespace grainscope::harness
