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

constexpr std::uint64_t kSmallest = 64 * kKiB;
constexpr std::uint64_t kLargest = 256 * kMiB;

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

// 1, 4, 16, …, in paper 1, 2, 4, …, and all the CPUs there are.
std::vector<int> thread_counts(int cpus, Preset preset) {
  std::vector<int> counts;
  for (int threads = 1; threads < cpus; threads *= preset == Preset::paper ? 2 : 4) {
    counts.push_back(threads);
  }
  counts.push_back(cpus);
  return counts;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        add_all(gpu, node);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const GpuTarget& gpu, int node, Engine engine, bool to_gpu, std::uint64_t bytes, int threads) {
    Transfer transfer;
    transfer.engine = engine;
    transfer.source = Endpoint::host(Placement::managed, node);
    transfer.destination = Endpoint::gpu(Placement::managed, gpu.ordinal);
    if (!to_gpu) {
      std::swap(transfer.source, transfer.destination);
    }
    transfer.bytes = bytes;
    transfer.host_threads = threads;
    std::vector<Axis> axes{{"method", engine == Engine::prefetch ? "prefetch" : "demand", AxisStyle::bare},
                           {"path", to_gpu ? "host_to_gpu" : "gpu_to_host", AxisStyle::bare}};
    if (engine == Engine::fault && !to_gpu) {
      axes.push_back({"host_threads", std::int64_t{threads}});
    }
    Benchmark benchmark = transfer_benchmark(kFamily, std::move(axes), transfer, gpu, explain(transfer));
    benchmark.skip_for(why_no_migration(machine_, gpu.ordinal));
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_all(const GpuTarget& gpu, int node) {
    const Node* place = machine_.topology.find_node(node);
    const int cpus = place == nullptr ? 1 : std::max<int>(1, static_cast<int>(place->allowed_cpus.size()));
    const std::uint64_t most = scope_.end(kLargest, kLargest, kGiB);
    const std::uint64_t largest =
        scope_.dense() ? std::min(most, largest_buffer(machine_, gpu.ordinal) / 2) : most;
    for (const std::uint64_t bytes : scope_.sizes(kSmallest, std::max(kSmallest, largest))) {
      add(gpu, node, Engine::fault, true, bytes, 1);
      add(gpu, node, Engine::prefetch, true, bytes, 1);
      add(gpu, node, Engine::prefetch, false, bytes, 1);
    }
    for (const int threads : thread_counts(cpus, scope_.preset)) {
      for (const std::uint64_t bytes : scope_.sizes(kMiB, std::max(kMiB, largest))) {
        add(gpu, node, Engine::fault, false, bytes, threads);
      }
    }
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_managed() {
  return {kFamily, "How fast does managed memory move between host and GPU, on demand and by prefetch?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
