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

#include <optional>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "host_case.hpp"
#include "latency_case.hpp"

namespace grainscope::harness {
namespace {

using cuda::Call;
using cuda::CallSpec;

// No call into a library and back takes less.
constexpr double kFastestCall_s = 2e-9;
const char* const kNone = "none";
// All calls, in the order of their enumeration.
std::vector<Call> calls() {
  std::vector<Call> all;
  for (int i = 0; i <= static_cast<int>(Call::managed_first_touch_by_host); ++i) {
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

Benchmark make_benchmark(const Machine& machine, const GpuTarget& gpu, int node, CallSpec spec) {
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
      gpu.ordinal, kFastestCall_s);
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  const NamedNumbers names{{"page", base_page_bytes()}};
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points(names)) {
      if (const auto spec = call_of(values, grids)) {
        benchmarks.push_back(make_benchmark(machine, gpu, node, *spec));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family call() {
  return {"call",
          "What does a call of the CUDA runtime cost: launch, wait, graph, memory?",
          {word_axis("what", "the call", names_of(calls(), [](Call each) { return cuda::name(each); })),
           number_axis("nodes", "kernels or copies in a graph", {1, 65536}, "1"),
           choice_axis("arguments", "bytes of arguments of launch_with_arguments", {64, 1024, 4096}, "64"),
           number_axis("threads", "that make a call by threads", {2, 1024}, "2"),
           pages_axis("pages of memory that is registered",
                      {PageKind::base, PageKind::transparent_huge, PageKind::hugetlb}, "base"),
           size_axis("bytes", "of calls that take memory or give it back; page: one page of the base size",
                     {16, 1024 * kGiB}, true, kNone, {kNone}, {"page"})},
          list};
}

}  // namespace grainscope::harness
