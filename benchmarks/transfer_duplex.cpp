// transfer/duplex: what does a link carry when bytes go both ways at once?
//
// Timed: where the GPU does all of it, each direction between two events of its own, both behind gates that
// open together; pageable copies, prefetches and faults of the host on two host threads that start together,
// on the host's clock. A sample is the time during which either direction ran; each direction's own time is
// kept beside it. Both destinations held other data before and are checked.
// Bytes: those of both directions. `overlap`: time both ran over time either ran.
// Source: Comm|Scope, section 3.2 and figure 7. Its duplex peer copy moved gpu1 to gpu1, its duplex prefetch
// took the stop event before the second prefetch, and its duplex zero-copy read loaded nothing; nvbandwidth's
// bidirectional copies are `contention/opposite_copy`.
// Limits: the two directions need not end together, and then one ran alone for a while: see `overlap`.

#include <algorithm>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "peer_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

constexpr std::uint64_t kSmallest = 64 * kKiB;
constexpr std::uint64_t kLargest = 256 * kMiB;
constexpr std::uint64_t kLargestHeavy = 64 * kMiB;  // of what takes the driver or the CPU long

const char* const kFamily = "transfer/duplex";

enum class Method { pageable, pinned, kernel_copy, zero_copy, demand, prefetch };

const char* name(Method method) {
  switch (method) {
    case Method::pageable:
      return "pageable";
    case Method::pinned:
      return "pinned";
    case Method::kernel_copy:
      return "kernel_copy";
    case Method::zero_copy:
      return "zero_copy";
    case Method::demand:
      return "demand";
    case Method::prefetch:
      return "prefetch";
  }
  return "";
}

// One direction; `other` is a node of the host, or a peer.
Transfer one_way(Method method, const Endpoint& other, int gpu, bool outward, std::uint64_t bytes) {
  Transfer transfer;
  transfer.bytes = bytes;
  Endpoint there = other;
  Endpoint here = Endpoint::gpu(Placement::device, gpu);
  switch (method) {
    case Method::pageable:
      there.placement = Placement::pageable;
      break;
    case Method::pinned:
      there.placement = other.on_host() ? Placement::pinned : Placement::device;
      break;
    case Method::kernel_copy:
      transfer.engine = Engine::sm;
      there.placement = other.on_host() ? Placement::pinned : Placement::device;
      break;
    case Method::zero_copy:
      transfer.engine = Engine::sm;
      transfer.walk.width_bytes = 16;
      there.placement = other.on_host() ? Placement::mapped : Placement::device;
      here.placement = Placement::registers;
      break;
    case Method::demand:
    case Method::prefetch:
      transfer.engine = method == Method::demand ? Engine::fault : Engine::prefetch;
      there.placement = here.placement = Placement::managed;
      break;
  }
  transfer.source = outward ? here : there;
  transfer.destination = outward ? there : here;
  // Between GPUs each sends: a kernel of each, or a copy engine of each. A walk's registers are on this GPU,
  // and managed pages come to the GPU that touches them.
  const bool migrates = here.placement == Placement::managed;
  transfer.by_source = method == Method::zero_copy ? outward : !other.on_host() && !migrates;
  return transfer;
}

Explanation explain(bool between_gpus) {
  return {"what a link carries when bytes go both ways at once",
          "each direction by itself, both started at the same moment; a sample is the time either ran",
          "bandwidth = bytes of both directions / median time; overlap = time both ran / time either ran",
          "Comm|Scope, section 3.2 and figure 7",
          between_gpus
              ? "events of two GPUs have no common clock: that both began together rests on gates which "
                "open within a microsecond"
              : "where one direction ends first, the other runs alone for the rest: see overlap"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        add_host(gpu, node);
      }
    }
    for (const GpuPair& pair : gpu_pairs(machine_, scope_)) {
      // A zero-copy pair reads and writes from one GPU; all others are the same seen from either.
      add_peer(pair);
    }
    return std::move(benchmarks_);
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sizes(Method method) const {
    const bool heavy = method == Method::pageable || method == Method::demand || method == Method::prefetch;
    const std::uint64_t most = heavy ? kLargestHeavy : kLargest;
    return scope_.preset == Preset::quick ? scope_.few_or_all(kSmallest, most, {kMiB, 16 * kMiB, most})
                                          : scope_.sizes(kSmallest, most);
  }

  void add(Benchmark benchmark, const Transfer& in, const Transfer& out, const char* in_name,
           const char* out_name) {
    benchmark.explanation = explain(in.between_gpus());
    carry_out_together(benchmark, {{in_name, in, {}, false, 1}, {out_name, out, {}, false, 1}}, false);
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_host(const GpuTarget& gpu, int node) {
    for (const Method method : {Method::pageable, Method::pinned, Method::kernel_copy, Method::zero_copy,
                                Method::demand, Method::prefetch}) {
      for (const std::uint64_t bytes : sizes(method)) {
        const Endpoint host = Endpoint::host(Placement::pinned, node);
        Benchmark benchmark;
        benchmark.id = {kFamily,
                        {{"between", "host_gpu", AxisStyle::bare},
                         {"method", name(method), AxisStyle::bare},
                         {"locality", gpu.locality(node), AxisStyle::hidden},
                         {"bytes", static_cast<std::int64_t>(bytes)}},
                        {{"numa", node}, {"gpu", gpu.ordinal}}};
        benchmark.skip = gpu.unavailable;
        if (method == Method::demand || method == Method::prefetch) {
          benchmark.skip_for(why_no_migration(machine_, gpu.ordinal));
        }
        if (method == Method::zero_copy || method == Method::kernel_copy) {
          benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
        }
        add(std::move(benchmark), one_way(method, host, gpu.ordinal, false, bytes),
            one_way(method, host, gpu.ordinal, true, bytes), "to_gpu", "to_host");
      }
    }
  }

  void add_peer(const GpuPair& pair) {
    for (const Method method :
         {Method::pinned, Method::kernel_copy, Method::zero_copy, Method::demand, Method::prefetch}) {
      if (pair.peer < pair.gpu.ordinal && method != Method::zero_copy) {
        continue;
      }
      for (const std::uint64_t bytes : sizes(method)) {
        const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
        Benchmark benchmark;
        benchmark.id = {kFamily,
                        {{"between", "gpu_gpu", AxisStyle::bare},
                         {"method", method == Method::pinned ? "copy_engine" : name(method), AxisStyle::bare},
                         {"link", pair.link, AxisStyle::hidden},
                         {"bytes", static_cast<std::int64_t>(bytes)}},
                        {{"gpu", pair.gpu.ordinal}, {"peer", pair.peer}}};
        const bool migrates = method == Method::demand || method == Method::prefetch;
        benchmark.skip = migrates ? pair.unavailable : pair.why_no_access();
        if (migrates) {
          benchmark.skip_for(why_no_migration(machine_, pair.gpu.ordinal));
        }
        add(std::move(benchmark), one_way(method, peer, pair.gpu.ordinal, true, bytes),
            one_way(method, peer, pair.gpu.ordinal, false, bytes), "to_peer", "from_peer");
      }
    }
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_duplex() {
  return {kFamily, "What does a link carry when bytes go both ways at once?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
