// The families of latencies: latency/chase, flag and managed_touch, and call. Each part opens with its
// question.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/probe.hpp"
#include "harness/benchmark.hpp"
#include "host/case.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {

PhysicalLimit over_link() {
  return {0, "a way over a link and back, through two controllers", 100e-9};
}

// A benchmark's body: makes a probe, samples it with the board's energy of `gpu`, and verifies it.
// `limit`: no operation of it can be faster.
using ProbeMaker = std::function<std::unique_ptr<Operation>(const transfer::Surroundings&)>;
[[nodiscard]] std::function<Measurement(Session&)> probe_body(ProbeMaker make, int gpu, PhysicalLimit limit);

std::function<Measurement(Session&)> probe_body(ProbeMaker make, int gpu, PhysicalLimit limit) {
  return [make = std::move(make), gpu, limit = std::move(limit)](Session& session) {
    return measure(session, [&] { return make(session.surroundings()); }, {.gpu = gpu, .limit = limit});
  };
}

namespace {

// latency/chase

constexpr About kAboutLatencyChase{
    .question = "How long does one load of a GPU take, from the host's memory, a peer's and its own?",
    .timed =
        "a walk along a cycle of pointers by one thread, one load every 128 bytes, each address the result "
        "of the load before, in a few kernels between two events behind a closed gate. Each kernel is on "
        "another multiprocessor, since the way to memory is not equally long from all. Not timed: laying and "
        "checking the cycle",
    .formula = "operation time = median time / loads",
    .source =
        "nvbandwidth's host_device_latency_sm and device_to_device_latency_sm: `stride` over 2 MiB is their "
        "walk. `shuffled` is lat_mem_rd's (McVoy and Staelin 1996): no stride for anybody to guess",
    .limits =
        "plain loads, so what the GPU's caches keep, they answer: the host's and a peer's memory is not kept "
        "beyond a first-level cache, its own is. Host memory is as the CPU left it, part of it in the CPU's "
        "caches. Large spans include address translation",
};

using cuda::ChaseSpec;
using To = cuda::ChaseSpec::To;
using Order = Cycle::Order;

// Below what any first-level cache of a GPU answers in.
PhysicalLimit first_level() {
  return {0, "a load of twenty cycles at 3 GHz", 20 / 3e9};
}

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
      walk.memory = to == To::host_memory ? memory_of(values) : cuda::MemoryKind::host_alloc;
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
    added.skip_for(why_no_memory(machine_, walk.memory, gpu.ordinal, walk.bytes));
  }

  Benchmark& add(const ChaseSpec& walk, Axis joined_by, std::vector<Site> site) {
    Benchmark benchmark;
    benchmark.id = {"latency/chase",
                    {{"to", name(walk.to), AxisStyle::bare},
                     {"order", name(walk.order)},
                     std::move(joined_by),
                     {"bytes", static_cast<std::int64_t>(walk.bytes)}},
                    std::move(site)};
    add_memory(walk.memory, benchmark.id.axes);
    benchmark.run =
        probe_body([walk](const transfer::Surroundings& around) { return cuda::make_chase(walk, around); },
                   walk.gpu, walk.to == To::own_memory ? first_level() : over_link());
    return benchmarks_.emplace_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family latency_chase() {
  return {"latency/chase",
          kAboutLatencyChase,
          {word_axis("to", "whose memory the GPU loads from",
                     names_of(kMemories, [](To each) { return name(each); })),
           word_axis("order", "of addresses: nvbandwidth's, or none that anybody could guess",
                     names_of(kOrders, [](Order each) { return name(each); })),
           memory_axis("how memory of the host came to be"),
           size_axis("bytes", "span of the cycle: a power of two", {256, 1024 * kGiB}), gpu_axis(),
           node_axis(), pairs_axis(), orders_axis()},
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return Lister(machine, grids).list();
          }};
}

namespace {

// latency/flag

constexpr About kAboutLatencyFlag{
    .question = "How long does a flag take there and back, between CPU and GPU or two GPUs?",
    .timed =
        "round trips, one after another: one side writes the number of the round, the other, which waits for "
        "it, writes it back. With the CPU: its clock, both flags in host memory, the GPU's thread running "
        "before the first round. Between GPUs: two events around the leading kernel, each side waiting on "
        "its own memory and writing to the other's, the answering kernel running before",
    .formula = "operation time = median time / round trips",
    .source =
        "what a persistent kernel or a hand-made barrier is made of; the ping-pong of every message library",
    .limits =
        "one thread on each side and nothing else on the link; a flag in the GPU's own memory, written by "
        "the CPU, is not measured",
};

const char* const kWithCpu = "cpu_gpu";
const char* const kBetweenGpus = "gpu_gpu";

Benchmark flag_benchmark(const cuda::FlagSpec& spec, Axis joined_by, std::vector<Site> site) {
  Benchmark benchmark;
  benchmark.id = {
      "latency/flag",
      {{"between", spec.between_gpus ? kBetweenGpus : kWithCpu, AxisStyle::bare}, std::move(joined_by)},
      std::move(site)};
  benchmark.explanation = {
      .timed =
          spec.between_gpus
              ? "the leading kernel of one thread, between two events; the answering one runs on the peer "
                "before"
              : "round trips on the host's clock; the answering kernel of one thread runs before the first"};
  benchmark.run = probe_body(
      [spec](const transfer::Surroundings& around) { return cuda::make_flag(spec, *around.topology); },
      spec.gpu, over_link());
  return benchmark;
}

std::vector<Benchmark> list_flag(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
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
          kAboutLatencyFlag,
          {word_axis("between", "the two sides", {kWithCpu, kBetweenGpus}), gpu_axis(), node_axis(),
           pairs_axis(), orders_axis()},
          list_flag};
}

namespace {

// latency/managed_touch

constexpr About kAboutLatencyManagedTouch{
    .question = "What does the first touch of a managed page cost, each way?",
    .timed =
        "one touch in each of 64 blocks of 2 MiB, one after another, since each page read tells which is "
        "next: by a kernel of one thread between two events behind a closed gate, or by one CPU thread on "
        "the host's clock. Before each sample the pages are brought to the other side and shown to be there, "
        "after it they are shown to have come",
    .formula = "operation time = median time / touches",
    .source =
        "the fault latency that bounds transfer/managed on demand; Comm|Scope, section 3.4, and its "
        "Comm_UM_Latency_* (c3sr/comm_scope, src/latency)",
    .limits =
        "the driver moves more than the page touched (64 KiB and up), and that is in the time. Blocks are "
        "whole and on one side, so nothing is evicted and no page is made",
};

// A fault goes through the driver, by interrupt: no such thing takes less.
PhysicalLimit fault() {
  return {0, "an interrupt and its handling by the driver", 500e-9};
}
const char* const kFamily = "latency/managed_touch";
const char* const kToGpu = "host_to_gpu";
const char* const kToHost = "gpu_to_host";
const char* const kFromPeer = "peer_to_gpu";
constexpr std::uint64_t kBytes = 130 * kMiB;  // 64 blocks, and room to begin at a block's begin

Benchmark make_benchmark_managed_touch(const cuda::TouchSpec& spec, std::vector<Axis> axes,
                                       std::vector<Site> site) {
  Benchmark benchmark;
  benchmark.id = {kFamily, std::move(axes), std::move(site)};
  benchmark.needs = {kBytes, 0, kBytes};
  const std::string from = spec.from_peer ? "a peer" : spec.to_gpu ? "the host" : "the GPU";
  benchmark.explanation = {
      .measures = std::string("the fault of a ") + (spec.to_gpu ? "GPU" : "CPU") +
                  " on a managed page that lives on " + from + ", and its migration",
      .timed =
          spec.to_gpu
              ? "a kernel of one thread that reads a page in each of 64 blocks of 2 MiB, each telling the "
                "next, between two events behind a closed gate"
              : "one CPU thread that reads a page in each of 64 blocks of 2 MiB, each telling the next"};
  benchmark.run = probe_body(
      [spec](const transfer::Surroundings& around) {
        return cuda::make_managed_touch(spec, *around.topology, *around.managed);
      },
      spec.gpu, fault());
  return benchmark;
}

std::vector<Benchmark> list_managed_touch(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const std::string& path : grid.words("path")) {
      if (path != kFromPeer) {
        Benchmark benchmark = make_benchmark_managed_touch(
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
        Benchmark benchmark = make_benchmark_managed_touch(
            {true, pair.gpu.ordinal, scope.nearest_node(pair.gpu), pair.peer},
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
          kAboutLatencyManagedTouch,
          {word_axis("path", "where the pages live, and who touches them", {kToGpu, kToHost, kFromPeer}),
           gpu_axis(), node_axis(), pairs_axis(), orders_axis()},
          list_managed_touch};
}

namespace {

// call

constexpr About kAboutCall{
    .question = "What does a call of the CUDA runtime cost: launch, wait, graph, memory?",
    .timed =
        "on the host's clock, a batch of equal calls (launch, wait, event, graph), or one call that takes or "
        "gives back memory; first touches alone are timed on the GPU, by two events behind a closed gate. "
        "What lies between two clock readings is in each row's `timing.timed`. Not timed: the work that is "
        "submitted, and what is needed to make and to check",
    .formula = "operation time = median time / calls, of several threads those of one",
    .source =
        "the costs that a program pays beside its transfers: Comm|Scope has launch, cudaMalloc's and page "
        "touches' among its micro-benchmarks; the graph's against that of as many launches",
    .limits =
        "one thread, but where a name says threads; one process, an idle GPU. Small pieces of device memory "
        "come from a chunk that the driver has already",
};

using cuda::Call;
using cuda::CallSpec;

const char* const kNone = "none";
// All calls, in the order of their enumeration.
std::vector<Call> calls() {
  std::vector<Call> all;
  for (int i = 0; i <= static_cast<int>(cuda::kLastCall); ++i) {
    all.push_back(static_cast<Call>(i));
  }
  return all;
}

bool needs_host_memory(Call call) {
  return call == Call::host_alloc || call == Call::host_free || call == Call::host_register ||
         call == Call::host_unregister;
}
bool registers(Call call) {
  return call == Call::host_register || call == Call::host_unregister;
}
bool is_by_threads(Call call) {
  return call == Call::launch_by_threads || call == Call::device_synchronize_by_threads;
}
bool is_of_graph(Call call) {
  return call >= Call::graph_instantiate && call <= Call::graph_launch_copies_3d;
}
bool is_of_memory(Call call) {
  return call >= Call::malloc;
}
bool is_first_touch(Call call) {
  return call == Call::managed_first_touch || call == Call::managed_first_touch_by_host;
}
bool is_managed(Call call) {
  return call == Call::malloc_managed || call == Call::managed_free || is_first_touch(call);
}

bool is_of_mapped(Call call) {
  return call >= Call::take_mapped;
}

Needs needs_of(const CallSpec& spec) {
  if (is_of_mapped(spec.what)) {
    // Reserved huge pages are set aside already.
    return {spec.memory == cuda::MemoryKind::hugetlb ? 0 : spec.bytes, 0, 0};
  }
  if (needs_host_memory(spec.what)) {
    return {spec.bytes, 0, 0};
  }
  return is_managed(spec.what) ? Needs{spec.bytes, 0, spec.bytes} : Needs{0, spec.bytes, 0};
}

Explanation explain(const CallSpec& spec) {
  Explanation text;
  text.measures = std::string("what the call `") + cuda::name(spec.what) + "` costs the CPU";
  text.timed =
      spec.what == Call::fork_with_mapped
          ? "fork() until it returns to the process that holds the memory; the child leaves at once"
      : is_of_mapped(spec.what)
          ? "taking memory until a GPU may read it (allocation, advice or registering, first touch), "
            "or giving it back; the CPU writes and the GPU reads all of it between, untimed"
      : spec.what == Call::managed_first_touch
          ? "a kernel that writes one word to each page of a fresh managed allocation, between two "
            "events behind a closed gate"
      : spec.what == Call::managed_first_touch_by_host
          ? "a CPU thread that writes one word to each page of a fresh managed allocation"
      : spec.threads > 1
          ? "a batch of calls by each of several threads that start together, on the host's clock, "
            "until the last is done"
      : spec.bytes > 0 ? "the calls alone, on the host's clock; the memory is used between taking and "
                         "giving back, untimed"
                       : "a batch of calls on the host's clock; the work that they submit is waited for "
                         "afterwards, unless waiting is the call";
  return text;
}

// The call of a point, with what a call of its kind has; absent, with the reason, where it cannot be.
std::optional<CallSpec> call_of(const Values& values, const Grids& grids) {
  CallSpec spec;
  spec.what = enumerator(values.word("what"), calls(), [](Call each) { return cuda::name(each); });
  if (is_of_graph(spec.what)) {
    spec.graph_nodes = values.number_as<int>("nodes");
  }
  if (spec.what == Call::launch_with_arguments) {
    spec.argument_bytes = values.number_as<int>("arguments");
  }
  if (is_by_threads(spec.what)) {
    spec.threads = values.number_as<int>("threads");
  }
  if (registers(spec.what)) {
    spec.pages = page_kind_of(values.word("pages"));
  }
  spec.memory = memory_of(values);
  if (spec.memory != cuda::MemoryKind::host_alloc && !is_of_mapped(spec.what)) {
    grids.leave_out(std::string("the call ") + cuda::name(spec.what) +
                    " is of its own memory: memory is host_alloc");
    return std::nullopt;
  }
  if (is_of_memory(spec.what)) {
    if (values.is("bytes", kNone)) {
      grids.leave_out(std::string("the call ") + cuda::name(spec.what) + " is of memory: bytes is a size");
      return std::nullopt;
    }
    spec.bytes = values.number("bytes");
  }
  if (is_first_touch(spec.what) && spec.bytes % base_page_bytes() != 0) {
    grids.leave_out("a first touch is of whole pages of " + format_bytes(base_page_bytes()) + ", not of " +
                    format_bytes(spec.bytes));
    return std::nullopt;
  }
  return spec;
}

Benchmark make_benchmark_call(const Machine& machine, const GpuTarget& gpu, int node, CallSpec spec) {
  spec.gpu = gpu.ordinal;
  spec.node = node;
  Benchmark benchmark;
  benchmark.id = {
      "call", {{"what", cuda::name(spec.what), AxisStyle::bare}}, {{"numa", node}, {"gpu", gpu.ordinal}}};
  auto& axes = benchmark.id.axes;
  if (spec.graph_nodes > 0) {
    axes.push_back({"nodes", std::int64_t{spec.graph_nodes}});
  }
  if (spec.argument_bytes > 0) {
    axes.push_back({"arguments", std::int64_t{spec.argument_bytes}});
  }
  if (spec.threads > 1) {
    axes.push_back({"threads", std::int64_t{spec.threads}});
  }
  if (registers(spec.what)) {
    axes.push_back({"pages", page_kind_name(spec.pages)});
  }
  if (is_of_mapped(spec.what)) {
    axes.push_back({"memory", cuda::name(spec.memory)});
  }
  axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
  if (spec.bytes > 0) {
    axes.push_back({"bytes", static_cast<std::int64_t>(spec.bytes)});
  }
  benchmark.skip = gpu.unavailable;
  if (is_of_mapped(spec.what)) {
    benchmark.skip_for(why_no_memory(machine, spec.memory, gpu.ordinal, spec.bytes));
  }
  if (needs_host_memory(spec.what)) {
    benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
  }
  if (is_managed(spec.what)) {
    benchmark.skip_for(why_no_migration(machine, gpu.ordinal));
  }
  benchmark.needs = needs_of(spec);
  benchmark.explanation = explain(spec);
  benchmark.run = probe_body(
      [spec](const transfer::Surroundings& around) {
        return cuda::make_call(spec, *around.topology, *around.managed);
      },
      gpu.ordinal, call_limit());
  return benchmark;
}

std::vector<Benchmark> list_call(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  const NamedNumbers names{{"page", base_page_bytes()}};
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points(names)) {
      if (const auto spec = call_of(values, grids)) {
        benchmarks.push_back(make_benchmark_call(machine, gpu, node, *spec));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family call() {
  return {"call",
          kAboutCall,
          {word_axis("what", "the call", names_of(calls(), [](Call each) { return cuda::name(each); })),
           number_axis("nodes", "kernels or copies in a graph", {1, 65536}, "1"),
           choice_axis("arguments", "bytes of arguments of launch_with_arguments", {64, 1024, 4096}, "64"),
           number_axis("threads", "that make a call by threads", {2, 1024}, "2"),
           pages_axis("pages of memory that is registered",
                      {PageKind::base, PageKind::transparent_huge, PageKind::hugetlb}, "base"),
           size_axis("bytes", "of calls that take memory or give it back; page: one page of the base size",
                     {16, 1024 * kGiB}, true, kNone, {kNone}, {"page"}),
           memory_axis("how the memory of take_mapped, give_back_mapped and fork_with_mapped came to be"),
           gpu_axis(), node_axis()},
          list_call,
          false,
          2};  // take_mapped without what is checked of the memory
}

}  // namespace grainscope::harness
