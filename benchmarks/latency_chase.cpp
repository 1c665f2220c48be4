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

#include <bit>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "latency_case.hpp"
#include "peer_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::ChaseSpec;
using To = cuda::ChaseSpec::To;
using Order = Cycle::Order;

// Twenty cycles at 3 GHz: below what any first-level cache of a GPU answers in.
constexpr double kFastestLoad_s = 20 / 3e9;

constexpr To kMemories[] = {To::host_memory, To::peer_memory, To::own_memory};
constexpr Order kOrders[] = {Order::stride, Order::shuffled};

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

const char* name(Order order) {
  return order == Order::stride ? "stride" : "shuffled";
}

class Lister {
 public:
  Lister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

  std::vector<Benchmark> list() {
    grids_.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
      for (const ChaseSpec& walk : walks(grid, To::host_memory)) {
        add_host(walk, gpu, node);
      }
    });
    grids_.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
      for (ChaseSpec walk : walks(grid, To::own_memory)) {
        walk.gpu = gpu.ordinal;
        Benchmark& added = add(walk, {"locality", "local", AxisStyle::hidden}, {{"gpu", walk.gpu}});
        added.needs = {0, walk.bytes, 0};
        added.skip = gpu.unavailable;
      }
    });
    each_pair(machine_, grids_, [&](const GpuPair& pair, const Grid& grid) {
      for (ChaseSpec walk : walks(grid, To::peer_memory)) {
        walk.gpu = pair.gpu.ordinal;
        walk.peer = pair.peer;
        Benchmark& added =
            add(walk, {"link", pair.link, AxisStyle::hidden}, {{"gpu", walk.gpu}, {"peer", walk.peer}});
        added.needs = {0, walk.bytes, 0};
        added.skip = pair.why_no_access();
      }
    });
    return std::move(benchmarks_);
  }

 private:
  // Those of a line to one kind of memory, wherever that is.
  [[nodiscard]] std::vector<ChaseSpec> walks(const Grid& grid, To to) const {
    std::vector<ChaseSpec> walks;
    for (const Values& values : grid.points()) {
      ChaseSpec walk;
      walk.to = to;
      walk.order = enumerator(values.word("order"), kOrders, [](Order each) { return name(each); });
      walk.bytes = values.number("bytes");
      if (!std::has_single_bit(walk.bytes)) {
        grids_.leave_out("a cycle of pointers goes through a power of two of bytes, not " +
                         std::to_string(walk.bytes));
      } else if (values.is("to", name(to))) {
        walks.push_back(walk);
      }
    }
    return walks;
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
                     {"order", name(walk.order)},
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
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family latency_chase() {
  return {"latency/chase",
          "How long does one load of a GPU take, from the host's memory, a peer's and its own?",
          {word_axis("to", "whose memory the GPU loads from",
                     names_of(kMemories, [](To each) { return name(each); })),
           word_axis("order", "of addresses: nvbandwidth's, or none that anybody could guess",
                     names_of(kOrders, [](Order each) { return name(each); })),
           size_axis("bytes", "span of the cycle: a power of two", {256, 1024 * kGiB})},
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return Lister(machine, grids).list();
          }};
}

}  // namespace grainscope::harness
