// transfer/managed: how fast does managed memory move between host and GPU, on demand and by prefetch?
//
// Timed: to the GPU on demand, a kernel that writes one word to each page, between two events behind a
// closed gate; to the host on demand, host threads that do the same, on the host's clock; prefetch, the
// call between two events (never gated: the driver works within the call).
// Before each sample the pages are brought to the source and shown to be there; after it they are shown to
// have left. Bytes: all bytes of the pages, which is what migrates.
// Source: Comm|Scope, section 3.4, figures 10 and 11.
// Limits: sizes stay below a quarter of the card's free memory, so nothing is evicted: the driver's
// behaviour under memory pressure is not measured.

#include <algorithm>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

const char* const kFamily = "transfer/managed";

Explanation explain(const Transfer& transfer) {
  Explanation text;
  text.source = "Comm|Scope, section 3.4 and figures 10, 11";
  text.formula = "bandwidth = bytes of the pages / median time";
  text.limits = "sizes stay below a quarter of the card's free memory, so no page is evicted";
  if (transfer.engine == Engine::prefetch) {
    text.measures = "the bandwidth of cudaMemPrefetchAsync on pages that live on the other side";
    text.timed = "the prefetch between two events on an idle stream; the driver works within the call";
  } else if (transfer.to_gpu()) {
    text.measures = "the bandwidth of GPU page faults that bring pages from the host";
    text.timed =
        "a kernel of 256 blocks of 256 threads whose warps write one word to each page, between two "
        "events behind a closed gate";
  } else {
    text.measures = "the bandwidth of CPU page faults that bring pages from the GPU";
    text.timed =
        "host threads that write one word to each page, from their common start to the last one's end";
  }
  return text;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    const Node* const place = machine.topology.find_node(node);
    const std::uint64_t cpus = place == nullptr ? 1 : std::max<std::size_t>(1, place->allowed_cpus.size());
    for (const Values& values : grid.points({{"all", cpus}})) {
      Transfer transfer;
      const bool to_gpu = values.is("path", "host_to_gpu");
      transfer.engine = values.is("method", "prefetch") ? Engine::prefetch : Engine::fault;
      transfer.source = Endpoint::host(Placement::managed, node);
      transfer.destination = Endpoint::gpu(Placement::managed, gpu.ordinal);
      if (!to_gpu) {
        std::swap(transfer.source, transfer.destination);
      }
      transfer.bytes = values.number("bytes");
      transfer.host_threads = values.number_as<int>("host_threads");
      const bool touched_by_host = transfer.engine == Engine::fault && !to_gpu;
      if (!touched_by_host && transfer.host_threads > 1) {
        grids.leave_out("only pages that the host touches are touched by threads of the host");
        continue;
      }
      std::vector<Axis> axes{{"method", values.at("method"), AxisStyle::bare},
                             {"path", values.at("path"), AxisStyle::bare}};
      if (touched_by_host) {
        axes.push_back({"host_threads", values.at("host_threads")});
      }
      benchmarks.push_back(transfer_benchmark(kFamily, std::move(axes), transfer, gpu, explain(transfer)));
      benchmarks.back().skip_for(why_no_migration(machine, gpu.ordinal));
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_managed() {
  return {kFamily,
          "How fast does managed memory move between host and GPU, on demand and by prefetch?",
          {word_axis("method", "what brings the pages", {"demand", "prefetch"}),
           word_axis("path", "which way", {"host_to_gpu", "gpu_to_host"}),
           number_axis("host_threads", "threads that touch pages on the host", {1, 4096}, "1", {}, {"all"}),
           size_axis("bytes", "bytes of the pages", {4, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
