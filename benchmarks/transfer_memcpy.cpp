// transfer/memcpy: how fast does cudaMemcpyAsync move a buffer between the host and a GPU, and what does
// the call itself cost?
//
// Timed: for page-locked memory one copy between two events, everything enqueued behind a closed gate, so
// that submission is not part of it; for pageable memory, where the CPU stages the bytes, the host's clock
// from the call until an event behind the copy has completed; for `submission` rows the call alone.
// Not timed: allocation, filling, flushing, checking. Bytes: the copy's size.
// Source: Comm|Scope (Pearson et al., ICPE 2019), section 3.2, figures 2, 6 and 9.
// Limits: one copy at a time; both ways at once is another family's question.

#include <algorithm>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;
using transfer::Transfer;

constexpr std::uint64_t kSmallest = 256;
constexpr std::uint64_t kLargestQuick = 512 * kMiB;
// Making a buffer and filling it takes longer than measuring it.
constexpr std::uint64_t kLargestFull = kGiB;
constexpr std::uint64_t kLargestOthersFull = 256 * kMiB;  // of all but what is pinned and flushed

const char* const kFamily = "transfer/memcpy";

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

std::string path_of(const Transfer& copy) {
  const std::string host = name(copy.host_end().placement);
  return copy.to_gpu() ? host + "_to_gpu" : "gpu_to_" + host;
}

Explanation explain(const Transfer& copy) {
  const bool pageable = copy.host_end().placement == Placement::pageable;
  Explanation text;
  text.source = "Comm|Scope, section 3.2 and figures 2, 6, 9";
  if (copy.submission_only) {
    text.measures = "what the CPU pays to submit one copy";
    text.timed = "the call of cudaMemcpyAsync alone, while the stream waits at a closed gate";
    text.formula = "one operation a sample; no bandwidth";
    text.limits = "the time says nothing of the copy, which runs after the call has returned";
    return text;
  }
  text.measures = "the bandwidth of one explicit copy, and for small sizes its latency";
  text.timed = pageable
                   ? "from the call until an event behind the copy has completed, on the host's clock, since "
                     "the CPU stages a pageable copy"
                   : "the copy alone, between two events, submitted beforehand behind a closed gate";
  text.formula = "bandwidth = bytes / median time";
  text.limits = copy.flush ? "the host buffer is evicted from the CPU's caches before every sample"
                           : "the host buffer is left in whatever cache the sample before left it";
  return text;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        for (const bool to_gpu : {true, false}) {
          add_copies(gpu, node, to_gpu);
          add_submissions(gpu, node, to_gpu);
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const Transfer& copy, const GpuTarget& gpu) {
    std::vector<Axis> axes{{"timed", copy.submission_only ? "submission" : "copy",
                            copy.submission_only ? AxisStyle::bare : AxisStyle::hidden},
                           {"path", path_of(copy), AxisStyle::bare}};
    if (!copy.submission_only) {
      axes.push_back({"flush", copy.flush ? "on" : "off"});
    }
    benchmarks_.push_back(transfer_benchmark(kFamily, std::move(axes), copy, gpu, explain(copy)));
  }

  void add_copies(const GpuTarget& gpu, int node, bool to_gpu) {
    // Pinned copies go far, in paper up to the memory there is, in large steps: curves are flat there.
    const std::uint64_t there_is = std::max(kLargestQuick, largest_buffer(machine_, gpu.ordinal));
    const std::uint64_t most = scope_.preset == Preset::paper  ? there_is
                               : scope_.preset == Preset::full ? std::min(there_is, kLargestFull)
                                                               : kLargestQuick;
    auto all_there_is = scope_.sizes(kSmallest, std::min(most, kGiB));
    const auto everywhere =
        scope_.sizes(kSmallest, scope_.end(std::min(most, kGiB), kLargestOthersFull, std::min(most, kGiB)));
    for (const std::uint64_t bytes : {std::min(most, 4 * kGiB), most}) {
      const bool larger = all_there_is.empty() || bytes > all_there_is.back();
      if (scope_.dense() && larger && scope_.in_range(bytes)) {
        all_there_is.push_back(bytes);
      }
    }
    // Kinds that repeat another's curve are looked at where it bends, not at every size.
    const auto some = scope_.dense() ? everywhere : scope_.sizes(kMiB, 64 * kMiB);
    const auto warm = scope_.dense() ? everywhere : scope_.sizes(64 * kKiB, 64 * kMiB);
    for (const auto& [placement, flush, sizes] :
         {std::tuple{Placement::pinned, true, all_there_is}, std::tuple{Placement::pinned, false, warm},
          std::tuple{Placement::pageable, true, everywhere}, std::tuple{Placement::pageable, false, warm},
          std::tuple{Placement::registered, true, some},
          std::tuple{Placement::write_combined, false, some}}) {
      for (const std::uint64_t bytes : sizes) {
        add(make_copy(placement, to_gpu, node, gpu.ordinal, bytes, flush), gpu);
      }
    }
  }

  void add_submissions(const GpuTarget& gpu, int node, bool to_gpu) {
    const auto sizes = scope_.dense() ? scope_.sizes(kSmallest, 64 * kMiB)
                                      : std::vector<std::uint64_t>{kSmallest, 64 * kKiB, 16 * kMiB};
    for (const std::uint64_t bytes : sizes) {
      if (scope_.keeps(bytes)) {
        Transfer copy = make_copy(Placement::pinned, to_gpu, node, gpu.ordinal, bytes, false);
        copy.submission_only = true;
        add(copy, gpu);
      }
    }
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_memcpy() {
  return {kFamily,
          "How fast does an explicit copy move bytes between host and GPU, and what does submitting it cost?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
