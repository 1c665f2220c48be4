// latency/managed_touch: what does the first touch of a managed page cost that lives on the other side, or on
// a peer?
//
// Timed: one touch in each of 64 blocks of 2 MiB, one after another, since each page read tells which is
// next: by a kernel of one thread between two events behind a closed gate, or by one CPU thread on the host's
// clock. Before each sample the pages are brought to the other side and shown to be there, after it they are
// shown to have come. Operations: touches. Source: the fault latency that bounds transfer/managed on demand;
// Comm|Scope, section 3.4, and its Comm_UM_Latency_* (c3sr/comm_scope, src/latency). Limits: the driver moves
// more than the page touched (64 KiB and up), and that is in the time. Blocks are whole and on one side, so
// nothing is evicted and no page is made.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "latency_case.hpp"
#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

// A fault goes through the driver, by interrupt: no such thing takes less.
constexpr double kFastestFault_s = 500e-9;
const char* const kFamily = "latency/managed_touch";
const char* const kToGpu = "host_to_gpu";
const char* const kToHost = "gpu_to_host";
const char* const kFromPeer = "peer_to_gpu";
constexpr std::uint64_t kBytes = 130 * kMiB;  // 64 blocks, and room to begin at a block's begin

Benchmark make_benchmark(const cuda::TouchSpec& spec, std::vector<Axis> axes, std::vector<Site> site) {
  Benchmark benchmark;
  benchmark.id = {kFamily, std::move(axes), std::move(site)};
  benchmark.needs = {kBytes, 0, kBytes};
  const std::string from = spec.from_peer ? "a peer" : spec.to_gpu ? "the host" : "the GPU";
  benchmark.explanation = {
      std::string("the fault of a ") + (spec.to_gpu ? "GPU" : "CPU") + " on a managed page that lives on " +
          from + ", and its migration",
      spec.to_gpu
          ? "a kernel of one thread that reads a page in each of 64 blocks of 2 MiB, each telling the "
            "next, between two events behind a closed gate"
          : "one CPU thread that reads a page in each of 64 blocks of 2 MiB, each telling the next",
      "operation time = median time / touches",
      "Comm|Scope, section 3.4: what bounds migration on demand; its Comm_UM_Latency_*",
      "the driver moves more than the page touched, and that is in the time"};
  benchmark.run = probe_body(
      [spec](const transfer::Surroundings& around) {
        return cuda::make_managed_touch(spec, *around.topology, *around.managed);
      },
      spec.gpu, kFastestFault_s);
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const std::string& path : grid.words("path")) {
      if (path != kFromPeer) {
        Benchmark benchmark = make_benchmark(
            {path == kToGpu, gpu.ordinal, node, {}},
            {{"path", path, AxisStyle::bare}, {"locality", gpu.locality(node), AxisStyle::hidden}},
            {{"numa", node}, {"gpu", gpu.ordinal}});
        benchmark.skip = gpu.unavailable;
        benchmark.skip_for(why_no_migration(machine, gpu.ordinal));
        benchmarks.push_back(std::move(benchmark));
      }
    }
  });
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    for (const std::string& path : grid.words("path")) {
      if (path == kFromPeer) {
        Benchmark benchmark =
            make_benchmark({true, pair.gpu.ordinal, scope.nearest_node(pair.gpu), pair.peer},
                           {{"path", path, AxisStyle::bare}, {"link", pair.link, AxisStyle::hidden}},
                           {{"gpu", pair.gpu.ordinal}, {"peer", pair.peer}});
        benchmark.skip = pair.unavailable;
        for (const int gpu : {pair.gpu.ordinal, pair.peer}) {
          benchmark.skip_for(why_no_migration(machine, gpu));
        }
        benchmarks.push_back(std::move(benchmark));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family latency_managed_touch() {
  return {kFamily,
          "What does the first touch of a managed page cost, each way?",
          {word_axis("path", "where the pages live, and who touches them", {kToGpu, kToHost, kFromPeer})},
          list};
}

}  // namespace grainscope::harness
