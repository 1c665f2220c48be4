// Families of one transfer at a time: transfer/memcpy, local, kernel_copy, managed, host_copy and zero_copy.
// Each part opens with its question.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/system/cache_flush.hpp"
#include "grainscope/transfer/mover.hpp"
#include "host/case.hpp"
#include "shape/shape.hpp"

namespace grainscope::harness {
namespace {

// transfer/memcpy

constexpr About kAboutTransferMemcpy{
    .question =
        "How fast does an explicit copy move bytes between host and GPU, and what does submitting it cost?",
    .timed =
        "for page-locked memory one copy between two events, everything enqueued behind a closed gate, so "
        "that submission is not part of it; for pageable memory, where the CPU stages the bytes, the host's "
        "clock from the call until an event behind the copy has completed; for `submission` rows the call "
        "alone. Not timed: allocation, filling, flushing, checking",
    .formula = "bandwidth = bytes / median time; of a submission one operation a sample, and no bandwidth",
    .source = "Comm|Scope (Pearson et al., ICPE 2019), section 3.2, figures 2, 6 and 9",
    .limits = "one copy at a time; both ways at once is another family's question",
};

using transfer::Endpoint;
using transfer::Placement;
using transfer::Transfer;

const char* const kMemcpyFamily = "transfer/memcpy";
const char* const kSubmission = "submission";
constexpr Placement kPlacements[] = {Placement::pinned, Placement::pageable, Placement::registered,
                                     Placement::write_combined, Placement::managed_host};

constexpr Placement kOfKernels[] = {Placement::pinned, Placement::managed_host};

Transfer make_copy(Placement placement, bool to_gpu, int node, int gpu, std::uint64_t bytes, bool flush) {
  Transfer copy;
  copy.source = Endpoint::host(placement, node);
  copy.destination = Endpoint::gpu(Placement::device, gpu);
  if (!to_gpu) {
    std::swap(copy.source, copy.destination);
  }
  copy.bytes = bytes;
  copy.flush = flush;
  return copy;
}

std::string path_name(Placement placement, bool to_gpu) {
  const std::string host = name(placement);
  return to_gpu ? host + "_to_gpu" : "gpu_to_" + host;
}
std::vector<std::string> paths_of(std::span<const Placement> placements) {
  std::vector<std::string> paths;
  for (const Placement placement : placements) {
    for (const bool to_gpu : {true, false}) {
      paths.push_back(path_name(placement, to_gpu));
    }
  }
  return paths;
}
std::string path_of(const Transfer& copy) {
  return path_name(copy.host_end().placement, copy.to_gpu());
}
std::pair<Placement, bool> path_named(const std::string& path) {
  const bool to_gpu = !path.starts_with("gpu_to_");
  return {enumerator(path, kPlacements, [&](Placement each) { return path_name(each, to_gpu); }), to_gpu};
}

Explanation explain_memcpy(const Transfer& copy) {
  const bool pageable = copy.host_end().placement == Placement::pageable;
  Explanation text;
  if (copy.submission_only) {
    text.measures = "what the CPU pays to submit one copy";
    text.timed = "the call of cudaMemcpyAsync alone, while the stream waits at a closed gate";
    text.limits = "the time says nothing of the copy, which runs after the call has returned";
    return text;
  }
  text.measures = "the bandwidth of one explicit copy, and for small sizes its latency";
  text.timed =
      pageable ? "from the call until an event behind the copy has completed, on the host's clock, since "
                 "the CPU stages a pageable copy"
      : copy.host_end().placement == Placement::managed_host
          ? "the copy alone, between two events, without a gate: the driver stages the copy and waits "
            "for the stream"
          : "the copy alone, between two events, submitted beforehand behind a closed gate";
  text.limits = copy.flush ? "the host buffer is evicted from the CPU's caches before every sample"
                           : "the host buffer is left in whatever cache the sample before left it";
  return text;
}

Benchmark make_benchmark_memcpy(const Transfer& copy, const GpuTarget& gpu) {
  std::vector<Axis> axes{{"timed", copy.submission_only ? kSubmission : "copy",
                          copy.submission_only ? AxisStyle::bare : AxisStyle::hidden},
                         {"path", path_of(copy), AxisStyle::bare}};
  if (!copy.submission_only) {
    axes.push_back({"flush", copy.flush ? "on" : "off"});
  }
  return transfer_benchmark(kMemcpyFamily, std::move(axes), copy, gpu, explain_memcpy(copy));
}

std::vector<Benchmark> list_memcpy(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points({{"most", largest_buffer(machine, gpu.ordinal)}})) {
      const auto [placement, to_gpu] = path_named(values.word("path"));
      Transfer copy =
          make_copy(placement, to_gpu, node, gpu.ordinal, values.number("bytes"), values.on("flush"));
      copy.submission_only = values.is("timed", kSubmission);
      const bool staged = placement == Placement::pageable || placement == Placement::managed_host;
      if (copy.submission_only && (copy.flush || staged)) {
        grids.leave_out(copy.flush
                            ? "the call that submits a copy reads no buffer: flush is off"
                            : "a call that copies pageable or managed memory returns when that is read: "
                              "it is a copy");
        continue;
      }
      Benchmark benchmark = make_benchmark_memcpy(copy, gpu);
      if (placement == Placement::managed_host) {
        benchmark.skip_for(why_no_memory(machine, cuda::MemoryKind::managed_host, gpu.ordinal, copy.bytes));
      }
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_memcpy() {
  return {
      kMemcpyFamily,
      kAboutTransferMemcpy,
      {word_axis("timed", "the copy, or the call that submits it", {"copy", kSubmission}, "copy"),
       word_axis("path", "kind of host memory, and which way", paths_of(kPlacements)),
       switch_axis("flush", "whether the host buffer is evicted from the CPU's caches before", "off"),
       size_axis("bytes", "bytes copied", {1, 1024 * kGiB}, true, "", {}, {"most"}), gpu_axis(), node_axis()},
      list_memcpy};
}

namespace {

// transfer/local and transfer/kernel_copy

constexpr About kAboutTransferLocal{
    .question = "How fast does a GPU copy within its own memory?",
    .timed = "one copy, or one kernel, between two events behind a closed gate",
    .formula =
        "bandwidth = bytes / median time: bytes count once, though the memory is both read and written",
    .source = "nvbandwidth's device_local_copy; Comm|Scope calls it a copy from the first GPU to itself",
    .limits = "below some times the size of the GPU's last-level cache it tells the cache's speed",
};

constexpr About kAboutTransferKernelCopy{
    .question = "How fast does a kernel copy between host memory and its GPU's?",
    .measures = "a kernel in place of a copy engine, which loads an access a thread or by bulk copies (TMA)",
    .timed = "one kernel between two events behind a closed gate",
    .formula = "bandwidth = bytes / median time",
    .source = "nvbandwidth's host_to_device_memcpy_sm and device_to_host_memcpy_sm",
    .limits =
        "one kernel, on a full grid unless `blocks` says otherwise; a bulk copy's requests are not modelled",
};

using transfer::Engine;

const char* const kLocal = "transfer/local";
const char* const kKernelCopy = "transfer/kernel_copy";
const char* const kUsual = "usual";

std::vector<Benchmark> list_local(const Machine& /*machine*/, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    for (const Values& values : grid.points()) {
      Transfer copy;
      copy.engine = values.is("method", "kernel_copy") ? Engine::sm : Engine::copy_engine;
      copy.source = copy.destination = Endpoint::gpu(Placement::device, gpu.ordinal);
      copy.bytes = values.number("bytes");
      copy.staging_node = scope.nearest_node(gpu);
      Benchmark benchmark;
      benchmark.id = {kLocal,
                      {{"method", values.at("method"), AxisStyle::bare},
                       {"bytes", static_cast<std::int64_t>(copy.bytes)}},
                      {{"gpu", gpu.ordinal}}};
      benchmark.skip = gpu.unavailable;
      carry_out(benchmark, copy);
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

std::vector<Benchmark> list_kernel_copy(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      const auto [placement, to_gpu] = path_named(values.word("path"));
      Transfer copy = make_copy(placement, to_gpu, node, gpu.ordinal, values.number("bytes"), true);
      copy.engine = Engine::sm;
      copy.walk.blocks = values.is("blocks", kUsual) ? 0 : values.number_as<int>("blocks");
      const std::string why = set_load(copy.walk, values);
      if (!why.empty()) {
        grids.leave_out(why);
        continue;
      }
      std::vector<Axis> axes{{"path", values.at("path"), AxisStyle::bare}};
      const std::vector<Axis> of_load = axes_of_load(copy.walk);
      axes.insert(axes.end(), of_load.begin(), of_load.end());
      Benchmark benchmark = transfer_benchmark(kKernelCopy, std::move(axes), copy, gpu, {});
      benchmark.skip_for(why_no_memory(machine,
                                       placement == Placement::managed_host ? cuda::MemoryKind::managed_host
                                                                            : cuda::MemoryKind::host_alloc,
                                       gpu.ordinal, copy.bytes));
      if (copy.walk.load == transfer::Load::bulk) {
        benchmark.skip_for(why_no_bulk(machine, gpu.ordinal));
      }
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_local() {
  return {kLocal,
          kAboutTransferLocal,
          {word_axis("method", "what copies", {"copy_engine", "kernel_copy"}),
           size_axis("bytes", "bytes copied", {4, 1024 * kGiB}), gpu_axis()},
          list_local};
}

Family transfer_kernel_copy() {
  std::vector<DeclaredAxis> axes = load_axes();
  axes.insert(axes.begin(), word_axis("path", "kind of host memory, and which way", paths_of(kOfKernels)));
  axes.push_back(number_axis("blocks", "blocks of the grid; usual: as many as fill the GPU", {1, 65536},
                             kUsual, {kUsual}));
  axes.push_back(size_axis("bytes", "bytes copied", {4, 1024 * kGiB}));
  axes.insert(axes.end(), {gpu_axis(), node_axis()});
  return {kKernelCopy, kAboutTransferKernelCopy, std::move(axes), list_kernel_copy};
}

namespace {

// transfer/managed

constexpr About kAboutTransferManaged{
    .question = "How fast does managed memory move between host and GPU, on demand and by prefetch?",
    .timed =
        "to the GPU on demand, a kernel that writes one word to each page, between two events behind a "
        "closed gate; to the host on demand, host threads that do the same, on the host's clock; prefetch, "
        "the call between two events (never gated: the driver works within the call); a batch of prefetches "
        "or discards alike. Under a hint the kernel reads every word instead, since of pages that stay on "
        "the host no more crosses than is read; the prefetch of hint=prefetch is timed with it, and not "
        "gated. Before each sample the pages are brought to the source and shown to be there; after it they "
        "are shown to have left, or not to, where they are to be read in place",
    .formula =
        "bandwidth = bytes of the pages / median time, which is what migrates; of discards none, since what "
        "is dropped need not cross: they are operations, one a piece",
    .source =
        "Comm|Scope, section 3.4, figures 10 and 11; CUDA runtime API, cudaMemAdvise and "
        "cudaMemDiscardBatchAsync",
    .limits =
        "sizes stay below a quarter of the card's free memory, so nothing is evicted: the driver's behaviour "
        "under memory pressure is not measured",
};

using transfer::PageCall;

const char* const kManagedFamily = "transfer/managed";
const char* const kDemand = "demand";
const char* const kWhole = "whole";
constexpr cuda::Hint kUsualHint = cuda::Hint::none;
constexpr PageCall kPageCalls[] = {PageCall::prefetch, PageCall::prefetch_batch, PageCall::discard,
                                   PageCall::discard_and_prefetch};
constexpr std::uint64_t kPage = 4 * kKiB;

std::vector<std::string> managed_methods() {
  std::vector<std::string> methods = names_of(kPageCalls, [](PageCall each) { return name(each); });
  methods.insert(methods.begin(), kDemand);
  return methods;
}

void explain_demand(const Transfer& transfer, Explanation& text) {
  if (transfer.hint != kUsualHint) {
    text.measures =
        std::string("the rate at which a GPU first reads managed memory that lives on the host, ") +
        meaning(transfer.hint);
    text.timed =
        transfer.hint == cuda::Hint::prefetch
            ? "cudaMemPrefetchAsync and one kernel that reads every word, between two events on an idle "
              "stream: the driver works within the call"
            : "one kernel that reads every word, between two events behind a closed gate; advising is "
              "not timed";
    text.formula +=
        "; counters: moved_bytes left the host, again_gb_s is the rate of a second read, "
        "driver_to_gpu_bytes and driver_gpu_faults are the driver's own counts of one more sample";
    text.source += "; CUDA runtime API, cudaMemAdvise";
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
}

Explanation explain_managed(const Transfer& transfer) {
  Explanation text;
  text.source = "Comm|Scope, section 3.4 and figures 10, 11";
  text.formula = "bandwidth = bytes of the pages / median time";
  text.limits = "sizes stay below a quarter of the card's free memory, so no page is evicted";
  if (transfer.engine == Engine::fault) {
    explain_demand(transfer, text);
    return text;
  }
  const std::string on_idle_stream =
      " between two events on an idle stream: the driver works within the call";
  switch (transfer.page_call) {
    case PageCall::prefetch:
      text.measures = "the bandwidth of cudaMemPrefetchAsync on pages that live on the other side";
      text.timed = "the prefetch between two events on an idle stream; the driver works within the call";
      break;
    case PageCall::prefetch_batch:
      text.measures = "the bandwidth of managed pages that pieces of one batch of prefetches move";
      text.timed = "one cudaMemPrefetchBatchAsync" + on_idle_stream;
      text.source = "CUDA runtime API, cudaMemPrefetchBatchAsync";
      break;
    case PageCall::discard:
      text.measures = std::string("what it costs to give up the content of managed pages that live on the ") +
                      (transfer.to_gpu() ? "host" : "GPU");
      text.timed = "one cudaMemDiscardBatchAsync" + on_idle_stream;
      break;
    case PageCall::discard_and_prefetch:
      text.measures = std::string("what a prefetch to the ") + (transfer.to_gpu() ? "GPU" : "host") +
                      " costs that need not bring the content of the pages";
      text.timed = "one cudaMemDiscardAndPrefetchBatchAsync" + on_idle_stream;
      break;
  }
  if (transfer.discards()) {
    text.formula =
        "one operation a piece; no bandwidth; counters.dropped_share is of the pages looked at that no "
        "longer "
        "held what had been written";
    text.source = "CUDA runtime API, cudaMemDiscardBatchAsync and cudaMemDiscardAndPrefetchBatchAsync";
    text.limits +=
        "; what a discarded page holds is undefined, so it is written and checked after each sample";
  }
  return text;
}

// The transfer of a point between the host and a GPU.
Transfer managed_transfer(const Values& values, int node, int gpu) {
  Transfer transfer;
  transfer.engine = values.is("method", kDemand) ? Engine::fault : Engine::prefetch;
  if (transfer.engine == Engine::prefetch) {
    transfer.page_call =
        enumerator(values.word("method"), kPageCalls, [](PageCall each) { return name(each); });
  }
  transfer.source = Endpoint::host(Placement::managed, node);
  transfer.destination = Endpoint::gpu(Placement::managed, gpu);
  if (!values.is("path", "host_to_gpu")) {
    std::swap(transfer.source, transfer.destination);
  }
  transfer.bytes = values.number("bytes");
  transfer.piece_bytes = values.is("grain", kWhole) ? 0 : values.number("grain");
  transfer.host_threads = values.number_as<int>("host_threads");
  transfer.hint = hint_of(values);
  return transfer;
}

// Why it cannot be, whatever the machine; empty: it can.
std::string why_no_managed(const Transfer& transfer) {
  const bool demand = transfer.engine == Engine::fault;
  if (transfer.host_threads > 1 && (!demand || transfer.to_gpu())) {
    return "only pages that the host touches are touched by threads of the host";
  }
  if (transfer.hint != kUsualHint && (!demand || !transfer.to_gpu())) {
    return "hints are of pages that a GPU asks for: method is demand, path host_to_gpu";
  }
  if (transfer.piece_bytes > 0 && (demand || transfer.page_call == PageCall::prefetch)) {
    return "pieces are of a batch: grain is whole, or method prefetch_batch, discard or "
           "discard_and_prefetch; one "
           "by one they are grain/pieces";
  }
  if (transfer.piece_bytes % kPage != 0) {
    return "a batch is of whole pages: grain is a multiple of " + format_bytes(kPage);
  }
  return transfer.piece_bytes > transfer.bytes
             ? "a piece is no larger than all of the pages: grain is bytes at most"
             : std::string();
}

std::vector<Benchmark> list_managed(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    const Node* const place = machine.topology.find_node(node);
    const std::uint64_t cpus = place == nullptr ? 1 : std::max<std::size_t>(1, place->allowed_cpus.size());
    for (const Values& values : grid.points({{"all", cpus}})) {
      const Transfer transfer = managed_transfer(values, node, gpu.ordinal);
      if (const std::string why = why_no_managed(transfer); !why.empty()) {
        grids.leave_out(why);
        continue;
      }
      std::vector<Axis> axes{{"method", values.at("method"), AxisStyle::bare},
                             {"path", values.at("path"), AxisStyle::bare}};
      if (transfer.engine == Engine::fault && !transfer.to_gpu()) {
        axes.push_back({"host_threads", values.at("host_threads")});
      }
      add_hint(transfer.hint, kUsualHint, axes);
      if (transfer.piece_bytes > 0) {
        axes.push_back({"grain", values.at("grain")});
      }
      benchmarks.push_back(
          transfer_benchmark(kManagedFamily, std::move(axes), transfer, gpu, explain_managed(transfer)));
      benchmarks.back().skip_for(why_no_migration(machine, gpu.ordinal));
      if (transfer.page_call != PageCall::prefetch) {
        benchmarks.back().skip_for(why_no_managed_batch(machine));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_managed() {
  return {kManagedFamily,
          kAboutTransferManaged,
          {word_axis("method", "what brings the pages, or drops what they hold", managed_methods()),
           word_axis("path", "which way pages go; of discard the first names the side that has them",
                     {"host_to_gpu", "gpu_to_host"}),
           number_axis("host_threads", "threads that touch pages on the host", {1, 4096}, "1", {}, {"all"}),
           hint_axis("what the driver is told of pages that the GPU asks for: of method demand", kUsualHint),
           size_axis("grain", "bytes of a piece of a batch; whole: all in one", {kPage, 1024 * kGiB}, false,
                     kWhole, {kWhole}),
           size_axis("bytes", "bytes of the pages", {4, 1024 * kGiB}), gpu_axis(), node_axis()},
          list_managed};
}

namespace {

// transfer/host_copy

constexpr About kAboutTransferHostCopy{
    .question = "What does the runtime's own copy reach from ordinary memory to page-locked memory?",
    .timed =
        "one cudaMemcpyAsync from host to host, from the call until an event behind it has completed, on the "
        "host's clock: a CPU copies. Not timed: allocation, page-locking, filling, flushing, checking",
    .formula = "bandwidth = bytes / median time",
    .source =
        "Comm|Scope's Comm_cudaMemcpyAsync_HostToPinned (c3sr/comm_scope, src/cudaMemcpyAsync), which takes "
        "the time by events",
    .limits = "one copy at a time, called from the source's node; what libc's memcpy reaches is host/memcpy",
};

using transfer::HostCopy;

const char* const kHostCopyFamily = "transfer/host_copy";

Measurement measure(Session& session, const HostCopy& copy) {
  Measurement measurement =
      harness::measure(session, [&] { return transfer::make_host_copy_mover(copy, session.surroundings()); },
                       {.limit = cpu_limit(1)});
  measurement.bytes = copy.bytes;
  return measurement;
}

Benchmark make_benchmark_host_copy(const Machine& machine, const GpuTarget& gpu, const HostCopy& copy) {
  Benchmark benchmark;
  benchmark.id = {kHostCopyFamily,
                  {{"path", "pageable_to_pinned", AxisStyle::bare},
                   {"flush", copy.flush ? "on" : "off"},
                   {"locality", node_locality(machine, copy.from_node, copy.to_node), AxisStyle::hidden},
                   {"bytes", static_cast<std::int64_t>(copy.bytes)}},
                  {{"from_node", copy.from_node}, {"to_node", copy.to_node}, {"gpu", gpu.ordinal}}};
  benchmark.needs = {2 * copy.bytes, 0, 0};
  benchmark.skip = gpu.unavailable;
  if (copy.flush && !can_flush()) {
    benchmark.skip_for("this processor has no instruction that evicts a cache line from user space");
  }
  benchmark.run = [copy](Session& session) { return measure(session, copy); };
  return benchmark;
}

std::vector<Benchmark> list_host_copy(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  if (scope.gpus.empty()) {
    return benchmarks;
  }
  // No GPU has a part in it: one stream is as good as another.
  const GpuTarget& gpu = scope.gpus.front();
  for (const int from : scope.nodes) {
    for (const int to : scope.nodes) {
      for (const Grid& grid : grids) {
        for (const Values& values : grid.points()) {
          benchmarks.push_back(make_benchmark_host_copy(
              machine, gpu, {from, to, gpu.ordinal, values.on("flush"), values.number("bytes")}));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family transfer_host_copy() {
  return {
      kHostCopyFamily,
      kAboutTransferHostCopy,
      {word_axis("path", "from which kind of memory to which", {"pageable_to_pinned"}, "pageable_to_pinned"),
       switch_axis("flush", "whether both buffers are evicted from the CPU's caches before"),
       size_axis("bytes", "bytes copied", {1, 1024 * kGiB})},
      list_host_copy};
}

namespace {

// transfer/zero_copy

constexpr About kAboutTransferZeroCopy{
    .question =
        "How fast does a kernel read or write host memory, and what does the way its warps walk change?",
    .timed =
        "one kernel between two events, behind a closed gate. Every load's result is used, and the sum of "
        "all words of all samples is checked; what is written is checked word by word on the host",
    .formula =
        "bandwidth = bytes asked for / median time; what crosses the link is under `traffic`, modelled: the "
        "requests of a warp, grouped by 128-byte line, if caches kept every sector; `requests_without_cache` "
        "if they kept none",
    .source =
        "EMOGI (Min et al., VLDB 2020), section 3.3, figures 3 and 4; Comm|Scope, section 3.3, figure 9",
    .limits = "the order of addresses is regular; random access is another family's question",
};

using transfer::Allocation;
using transfer::Walk;

const char* const kZeroCopyFamily = "transfer/zero_copy";
const char* const kFullGrid = "full";
constexpr Allocation kAllocations[] = {Allocation::host_alloc, Allocation::registered,
                                       Allocation::accessed_by, Allocation::managed_host};

Explanation explain_zero_copy(const Transfer& transfer) {
  Explanation text;
  text.measures = transfer.to_gpu() ? "the bandwidth of a kernel that reads host memory over the link"
                                    : "the bandwidth of a kernel that writes host memory over the link";
  text.limits = "regular order of addresses; one kernel at a time";
  if (!transfer.flush) {
    text.limits += "; what the CPU's caches have of the memory comes from there";
  }
  return text;
}

// The walk of a point; absent, with the reason, where it cannot be.
std::optional<Walk> walk_of(const Values& values, const Grids& grids) {
  Walk walk;
  const std::string& access = values.word("access");
  walk.pattern = access == "strided" ? Walk::Pattern::strided : Walk::Pattern::merged;
  walk.offset_bytes = values.number_as<int>("offset");
  walk.width_bytes = values.number_as<int>("width");
  walk.blocks = values.is("blocks", kFullGrid) ? 0 : values.number_as<int>("blocks");
  walk.threads = values.number_as<int>("threads");
  if (walk.offset_bytes % walk.width_bytes != 0) {
    grids.leave_out("an access of " + std::to_string(walk.width_bytes) +
                    " bytes begins at a multiple of them, not " + std::to_string(walk.offset_bytes) +
                    " bytes behind");
    return std::nullopt;
  }
  if (access_name(walk) != access) {
    grids.leave_out("access " + access + " begins " +
                    (access == "merged" ? "off a boundary of 128 bytes: offset is 4, 32 or 64"
                                        : "on a boundary of 128 bytes: offset is 0"));
    return std::nullopt;
  }
  return walk;
}

Benchmark make_benchmark_zero_copy(const Machine& machine, const GpuTarget& gpu, int node,
                                   const Values& values, const Walk& walk) {
  Transfer transfer;
  transfer.engine = Engine::sm;
  transfer.source = Endpoint::host(Placement::mapped, node);
  transfer.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
  if (values.is("direction", "write")) {
    std::swap(transfer.source, transfer.destination);
  }
  transfer.bytes = values.number("bytes");
  transfer.allocation =
      enumerator(values.word("allocation"), kAllocations, [](Allocation each) { return name(each); });
  const bool flush = values.on("flush");
  transfer.flush = flush && transfer.allocation != Allocation::accessed_by;
  transfer.walk = walk;
  std::vector<Axis> axes{{"direction", values.at("direction"), AxisStyle::bare},
                         {"access", values.at("access"), AxisStyle::bare},
                         {"allocation", values.at("allocation")},
                         {"offset", values.at("offset")},
                         {"width", values.at("width")},
                         {"blocks", values.at("blocks")},
                         {"threads", values.at("threads")}};
  if (!flush) {
    axes.push_back({"flush", "off"});
  }
  Benchmark benchmark =
      transfer_benchmark(kZeroCopyFamily, std::move(axes), transfer, gpu, explain_zero_copy(transfer));
  const bool managed = transfer.allocation == Allocation::managed_host;
  benchmark.skip_for(why_no_memory(machine,
                                   managed ? cuda::MemoryKind::managed_host : cuda::MemoryKind::host_alloc,
                                   gpu.ordinal, transfer.bytes));
  return benchmark;
}

std::vector<Benchmark> list_zero_copy(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      if (!values.on("flush") && values.is("allocation", name(Allocation::accessed_by))) {
        grids.leave_out("managed memory that is mapped is never flushed: flush is on");
        continue;
      }
      if (const auto walk = walk_of(values, grids)) {
        benchmarks.push_back(make_benchmark_zero_copy(machine, gpu, node, values, *walk));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_zero_copy() {
  return {kZeroCopyFamily,
          kAboutTransferZeroCopy,
          {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
           word_axis("access", "how a warp walks", {"strided", "merged", "merged_aligned"}, "merged_aligned"),
           word_axis("allocation", "how the memory came to be",
                     names_of(kAllocations, [](Allocation each) { return name(each); }), "host_alloc"),
           size_axis("offset", "of the first element behind a boundary of 128 bytes", {0, 124}, false, "0"),
           choice_axis("width", "bytes of an access", {4, 8, 16}, "4"),
           number_axis("blocks", "blocks of the grid", {1, 65536}, kFullGrid, {kFullGrid}),
           number_axis("threads", "threads of a block", {32, 1024}, "1024"),
           switch_axis("flush", "whether the host memory is evicted from the CPU's caches before", "on"),
           size_axis("bytes", "bytes that the kernel asks for", {4, 1024 * kGiB}), gpu_axis(), node_axis()},
          list_zero_copy};
}

}  // namespace grainscope::harness
