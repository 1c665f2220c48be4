// call: what does a call of the CUDA runtime cost the CPU that makes it?
//
// Timed: on the host's clock, a batch of equal calls (launch, wait, event, graph), or one call that takes or
// gives back memory; first touches alone are timed on the GPU, by two events behind a closed gate. What lies
// between two clock readings is in each row's `timing.timed`. Not timed: the work that is submitted, and what
// is needed to make and to check. Operations: calls, of several threads those of one. The calling threads are
// bound to the node.
// Source: the costs that a program pays beside its transfers: Comm|Scope has launch, cudaMalloc's and page
// touches' among its micro-benchmarks; the graph's against that of as many launches.
// Limits: one thread, but where a name says threads; one process, an idle GPU. Small pieces of device memory
// come from a chunk that the driver has already.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "latency_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::Call;
using cuda::CallSpec;

// No call into a library and back takes less.
constexpr double kFastestCall_s = 2e-9;
constexpr std::uint64_t kLargest = kGiB;
// Where the CPU touches every page, a larger call takes a second.
constexpr std::uint64_t kLargestTouchedFull = 256 * kMiB;

// A call that takes or gives memory, by size.
struct MemoryCalls {
  std::vector<Call> calls;
  std::uint64_t low;               // every octave from here where dense
  std::vector<std::uint64_t> few;  // else these
};

bool needs_host_memory(Call call) {
  return call == Call::host_alloc || call == Call::host_free || call == Call::host_register ||
         call == Call::host_unregister;
}
bool registers(Call call) {
  return call == Call::host_register || call == Call::host_unregister;
}
bool is_managed(Call call) {
  return call == Call::malloc_managed || call == Call::managed_free || call == Call::managed_first_touch ||
         call == Call::managed_first_touch_by_host;
}

Needs needs_of(const CallSpec& spec) {
  if (needs_host_memory(spec.what)) {
    return {spec.bytes, 0, 0};
  }
  return is_managed(spec.what) ? Needs{spec.bytes, 0, spec.bytes} : Needs{0, spec.bytes, 0};
}

Explanation explain(const CallSpec& spec) {
  Explanation text;
  text.measures = std::string("what the call `") + cuda::name(spec.what) + "` costs the CPU";
  text.timed = spec.what == Call::managed_first_touch
                   ? "a kernel that writes one word to each page of a fresh managed allocation, between two "
                     "events behind a closed gate"
               : spec.what == Call::managed_first_touch_by_host
                   ? "a CPU thread that writes one word to each page of a fresh managed allocation"
               : spec.threads > 1
                   ? "a batch of calls by each of several threads that start together, on the host's clock, "
                     "until the last is done"
               : spec.bytes > 0
                   ? "the calls alone, on the host's clock; the memory is used between taking and "
                     "giving back, untimed"
                   : "a batch of calls on the host's clock; the work that they submit is waited for "
                     "afterwards, unless waiting is the call";
  text.formula = "operation time = median time / calls";
  text.source =
      "the costs beside a program's transfers; Comm|Scope's launch, allocation and touch benchmarks";
  text.limits = spec.threads > 1 ? "one process, an idle GPU" : "one thread, one process, an idle GPU";
  return text;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        if (scope_.dense() || node == scope_.nearest_node(gpu)) {
          add_submission(gpu, node);
          add_device_memory(gpu, node);
        }
        add_host_memory(gpu, node);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const GpuTarget& gpu, const CallSpec& call, int node) {
    CallSpec spec = call;
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
    axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
    if (spec.bytes > 0) {
      axes.push_back({"bytes", static_cast<std::int64_t>(spec.bytes)});
    }
    benchmark.skip = gpu.unavailable;
    if (needs_host_memory(spec.what)) {
      benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
    }
    if (is_managed(spec.what)) {
      benchmark.skip_for(why_no_migration(machine_, gpu.ordinal));
    }
    benchmark.needs = needs_of(spec);
    benchmark.explanation = explain(spec);
    benchmark.run = probe_body(
        [spec](const transfer::Surroundings& around) {
          return cuda::make_call(spec, *around.topology, *around.managed);
        },
        gpu.ordinal, kFastestCall_s);
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_sizes(const GpuTarget& gpu, int node, const MemoryCalls& calls, PageKind pages = PageKind::base) {
    for (const Call what : calls.calls) {
      const bool touches = needs_host_memory(what) || what == Call::managed_first_touch_by_host;
      const std::uint64_t most = scope_.end(kLargest, touches ? kLargestTouchedFull : kLargest, kLargest);
      for (const std::uint64_t bytes : scope_.few_or_all(calls.low, most, calls.few)) {
        add(gpu, {.what = what, .bytes = bytes, .pages = pages}, node);
      }
    }
  }

  void add_submission(const GpuTarget& gpu, int node) {
    for (const Call what :
         {Call::launch, Call::launch_and_wait, Call::stream_synchronize, Call::device_synchronize,
          Call::event_record, Call::event_synchronize, Call::stream_wait_event}) {
      add(gpu, {.what = what}, node);
    }
    for (const int bytes : {64, 1024, 4096}) {
      add(gpu, {.what = Call::launch_with_arguments, .argument_bytes = bytes}, node);
    }
    for (const Call what : {Call::launch_by_threads, Call::device_synchronize_by_threads}) {
      for (const int threads : scope_.dense() ? std::vector{2, 4, 8, 16, 32} : std::vector{2, 8}) {
        add(gpu, {.what = what, .threads = threads}, node);
      }
    }
    for (const Call what : {Call::graph_instantiate, Call::graph_launch, Call::graph_instantiate_copies,
                            Call::graph_launch_copies, Call::graph_launch_copies_3d}) {
      for (const int graph_nodes : {1, 16, 256}) {
        add(gpu, {.what = what, .graph_nodes = graph_nodes}, node);
      }
    }
  }

  void add_device_memory(const GpuTarget& gpu, int node) {
    add_sizes(gpu, node, {{Call::malloc, Call::free}, 4 * kKiB, {4 * kKiB, kMiB, 64 * kMiB, kGiB}});
    add_sizes(gpu, node, {{Call::malloc_async, Call::free_async}, 4 * kKiB, {kMiB, 64 * kMiB}});
    add_sizes(gpu, node, {{Call::malloc_managed, Call::managed_free}, 64 * kKiB, {64 * kKiB, 64 * kMiB}});
    add_sizes(
        gpu, node,
        {{Call::managed_first_touch, Call::managed_first_touch_by_host}, 64 * kKiB, {64 * kKiB, 64 * kMiB}});
  }

  void add_host_memory(const GpuTarget& gpu, int node) {
    add_sizes(gpu, node, {{Call::host_alloc, Call::host_free}, 4 * kKiB, {4 * kKiB, kMiB, 64 * kMiB}});
    const std::vector<Call> both{Call::host_register, Call::host_unregister};
    add_sizes(gpu, node, {both, base_page_bytes(), {base_page_bytes(), kMiB, 64 * kMiB}});
    // Smaller than this there may be no huge page to register.
    for (const PageKind pages : {PageKind::transparent_huge, PageKind::hugetlb}) {
      add_sizes(gpu, node, {both, 4 * kMiB, {64 * kMiB}}, pages);
    }
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family call() {
  return {"call",
          "What does a call of the CUDA runtime cost: launch, wait, graph, memory?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope).list();
          }};
}

}  // namespace grainscope::harness
