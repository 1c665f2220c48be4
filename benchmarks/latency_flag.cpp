// latency/flag: how long does a flag take there and back, between CPU and GPU, and between two GPUs?
//
// Timed: round trips, one after another: one side writes the number of the round, the other, which waits for
// it, writes it back. With the CPU: its clock, both flags in host memory, the GPU's thread running before the
// first round. Between GPUs: two events around the leading kernel, each side waiting on its own memory and
// writing to the other's, the answering kernel running before. Operations: round trips.
// Source: what a persistent kernel or a hand-made barrier is made of; the ping-pong of every message library.
// Limits: one thread on each side and nothing else on the link; a flag in the GPU's own memory, written by
// the CPU, is not measured.

#include <algorithm>

#include "families.hpp"
#include "latency_case.hpp"
#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

const char* const kWithCpu = "cpu_gpu";
const char* const kBetweenGpus = "gpu_gpu";

Benchmark flag_benchmark(const cuda::FlagSpec& spec, Axis joined_by, std::vector<Site> site) {
  Benchmark benchmark;
  benchmark.id = {
      "latency/flag",
      {{"between", spec.between_gpus ? kBetweenGpus : kWithCpu, AxisStyle::bare}, std::move(joined_by)},
      std::move(site)};
  benchmark.explanation = {
      "the round trip of a flag that one side writes and the other answers",
      spec.between_gpus
          ? "the leading kernel of one thread, between two events; the answering one runs on the peer before"
          : "round trips on the host's clock; the answering kernel of one thread runs before the first",
      "operation time = median time / round trips",
      "the ping-pong of message passing, by plain stores and loads",
      "one thread on each side, and nothing else on the link"};
  benchmark.run = probe_body(
      [spec](const transfer::Surroundings& around) { return cuda::make_flag(spec, *around.topology); },
      spec.gpu, kFastestOverLink_s);
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const auto takes = [](const Grid& grid, const char* between) {
    const std::vector<std::string> taken = grid.words("between");
    return std::find(taken.begin(), taken.end(), between) != taken.end();
  };
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    if (takes(grid, kWithCpu)) {
      const cuda::FlagSpec spec{.between_gpus = false, .gpu = gpu.ordinal, .node = node};
      Benchmark benchmark = flag_benchmark(spec, {"locality", gpu.locality(node), AxisStyle::hidden},
                                           {{"numa", node}, {"gpu", gpu.ordinal}});
      benchmark.skip = gpu.unavailable;
      benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
      benchmarks.push_back(std::move(benchmark));
    }
  });
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    if (takes(grid, kBetweenGpus)) {
      const cuda::FlagSpec spec{.between_gpus = true, .gpu = pair.gpu.ordinal, .peer = pair.peer};
      Benchmark benchmark = flag_benchmark(spec, {"link", pair.link, AxisStyle::hidden},
                                           {{"gpu", spec.gpu}, {"peer", spec.peer}});
      benchmark.skip = pair.why_no_access();
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family latency_flag() {
  return {"latency/flag",
          "How long does a flag take there and back, between CPU and GPU or two GPUs?",
          {word_axis("between", "the two sides", {kWithCpu, kBetweenGpus})},
          list};
}

}  // namespace grainscope::harness
