// latency/chase: how long does one load of a GPU take, from the host's memory, from a peer's, from its own?
//
// Timed: a walk along a cycle of pointers by one thread, one load every 128 bytes, each address the result of
// the load before, in a few kernels between two events behind a closed gate. Each kernel is on another
// multiprocessor, since the way to memory is not equally long from all. Not timed: laying and checking the
// cycle. Operations: loads.
// Source: nvbandwidth's host_device_latency_sm and device_to_device_latency_sm: `stride` over 2 MiB is their
// walk. `shuffled` is lat_mem_rd's (McVoy and Staelin 1996): no stride for anybody to guess.
// Limits: plain loads, so what the GPU's caches keep, they answer: the host's and a peer's memory is not kept
// beyond a first-level cache, its own is. Host memory is as the CPU left it, part of it in the CPU's caches.
// Large spans include address translation.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "latency_case.hpp"
#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::ChaseSpec;
using To = cuda::ChaseSpec::To;
using Order = Cycle::Order;

constexpr std::uint64_t kStrideBytes = 2 * kMiB;   // nvbandwidth's
constexpr std::uint64_t kSmallestFar = 2 * kMiB;   // more than a first-level cache
constexpr std::uint64_t kSmallestOwn = 64 * kKiB;  // within one
constexpr std::uint64_t kLargest = kGiB;
// Twenty cycles at 3 GHz: below what any first-level cache of a GPU answers in.
constexpr double kFastestLoad_s = 20 / 3e9;

const char* name(To to) {
  switch (to) {
    case To::host_memory:
      return "host_memory";
    case To::peer_memory:
      return "peer_memory";
    case To::own_memory:
      return "own_memory";
  }
  return "unknown";
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        add_all(kSmallestFar, {2 * kMiB, 64 * kMiB, 256 * kMiB},
                [&](const ChaseSpec& walk) { add_host(walk, gpu, node); });
      }
      add_all(kSmallestOwn, {64 * kKiB, 2 * kMiB, 16 * kMiB, 256 * kMiB}, [&](ChaseSpec walk) {
        walk.to = To::own_memory;
        walk.gpu = gpu.ordinal;
        Benchmark& added = add(walk, {"locality", "local", AxisStyle::hidden}, {{"gpu", walk.gpu}});
        added.needs = {0, walk.bytes, 0};
        added.skip = gpu.unavailable;
      });
    }
    for (const GpuPair& pair : gpu_pairs(machine_, scope_)) {
      add_all(kSmallestFar, {2 * kMiB}, [&](ChaseSpec walk) {
        walk.to = To::peer_memory;
        walk.gpu = pair.gpu.ordinal;
        walk.peer = pair.peer;
        Benchmark& added =
            add(walk, {"link", pair.link, AxisStyle::hidden}, {{"gpu", walk.gpu}, {"peer", walk.peer}});
        added.needs = {0, walk.bytes, 0};
        added.skip = pair.why_no_access();
      });
    }
    return std::move(benchmarks_);
  }

 private:
  template <class Add>
  void add_all(std::uint64_t low, const std::vector<std::uint64_t>& few, Add add_one) {
    ChaseSpec walk;
    for (const Order order : {Order::stride, Order::shuffled}) {
      walk.order = order;
      // nvbandwidth's stride needs no more than its own span to be compared.
      const std::vector<std::uint64_t> some = order == Order::stride ? std::vector{kStrideBytes} : few;
      for (const std::uint64_t bytes : scope_.few_or_all(low, kLargest, some)) {
        walk.bytes = bytes;
        add_one(walk);
      }
    }
  }

  void add_host(ChaseSpec walk, const GpuTarget& gpu, int node) {
    walk.gpu = gpu.ordinal;
    walk.node = node;
    Benchmark& added = add(walk, {"locality", gpu.locality(node), AxisStyle::hidden},
                           {{"numa", node}, {"gpu", gpu.ordinal}});
    added.needs = {walk.bytes, 0, 0};
    added.skip = gpu.unavailable;
    added.skip_for(why_no_mapping(machine_, gpu.ordinal));
  }

  Benchmark& add(const ChaseSpec& walk, Axis joined_by, std::vector<Site> site) {
    Benchmark benchmark;
    benchmark.id = {"latency/chase",
                    {{"to", name(walk.to), AxisStyle::bare},
                     {"order", walk.order == Order::stride ? "stride" : "shuffled"},
                     std::move(joined_by),
                     {"bytes", static_cast<std::int64_t>(walk.bytes)}},
                    std::move(site)};
    benchmark.explanation = {
        "the time of one load of a GPU, by where the memory is and how large the span",
        "a walk along a cycle of pointers by one thread, in kernels on several multiprocessors, between two "
        "events behind a closed gate",
        "operation time = median time / loads",
        "nvbandwidth's latency tests (`stride` over 2 MiB is their walk); lat_mem_rd (McVoy and Staelin "
        "1996)",
        "what caches keep, they answer; large spans include address translation"};
    benchmark.run = probe_body(
        [walk](const transfer::Surroundings& around) { return cuda::make_chase(walk, *around.topology); },
        walk.gpu, walk.to == To::own_memory ? kFastestLoad_s : kFastestOverLink_s);
    return benchmarks_.emplace_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family latency_chase() {
  return {"latency/chase",
          "How long does one load of a GPU take, from the host's memory, a peer's and its own?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope).list();
          }};
}

}  // namespace grainscope::harness
