// transfer/memcpy: how fast does cudaMemcpyAsync move a buffer between the host and a GPU, and what does
// the call itself cost?
//
// Timed: for page-locked memory one copy between two events, everything enqueued behind a closed gate, so
// that submission is not part of it; for pageable memory, where the CPU stages the bytes, the host's clock
// from the call until an event behind the copy has completed; for `submission` rows the call alone.
// Not timed: allocation, filling, flushing, checking. Bytes: the copy's size.
// Source: Comm|Scope (Pearson et al., ICPE 2019), section 3.2, figures 2, 6 and 9.
// Limits: one copy at a time; both ways at once is another family's question.

#include <utility>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Placement;
using transfer::Transfer;

const char* const kFamily = "transfer/memcpy";
const char* const kSubmission = "submission";
constexpr Placement kPlacements[] = {Placement::pinned, Placement::pageable, Placement::registered,
                                     Placement::write_combined};

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
std::string path_of(const Transfer& copy) {
  return path_name(copy.host_end().placement, copy.to_gpu());
}
std::pair<Placement, bool> path_named(const std::string& path) {
  const bool to_gpu = !path.starts_with("gpu_to_");
  return {enumerator(path, kPlacements, [&](Placement each) { return path_name(each, to_gpu); }), to_gpu};
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

Benchmark make_benchmark(const Transfer& copy, const GpuTarget& gpu) {
  std::vector<Axis> axes{{"timed", copy.submission_only ? kSubmission : "copy",
                          copy.submission_only ? AxisStyle::bare : AxisStyle::hidden},
                         {"path", path_of(copy), AxisStyle::bare}};
  if (!copy.submission_only) {
    axes.push_back({"flush", copy.flush ? "on" : "off"});
  }
  return transfer_benchmark(kFamily, std::move(axes), copy, gpu, explain(copy));
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points({{"most", largest_buffer(machine, gpu.ordinal)}})) {
      const auto [placement, to_gpu] = path_named(values.word("path"));
      Transfer copy =
          make_copy(placement, to_gpu, node, gpu.ordinal, values.number("bytes"), values.on("flush"));
      copy.submission_only = values.is("timed", kSubmission);
      if (copy.submission_only && (copy.flush || placement == Placement::pageable)) {
        grids.leave_out(copy.flush
                            ? "the call that submits a copy reads no buffer: flush is off"
                            : "a call that copies pageable memory returns when that is read: it is a copy");
        continue;
      }
      benchmarks.push_back(make_benchmark(copy, gpu));
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_memcpy() {
  std::vector<std::string> paths;
  for (const Placement placement : kPlacements) {
    for (const bool to_gpu : {true, false}) {
      paths.push_back(path_name(placement, to_gpu));
    }
  }
  return {kFamily,
          "How fast does an explicit copy move bytes between host and GPU, and what does submitting it cost?",
          {word_axis("timed", "the copy, or the call that submits it", {"copy", kSubmission}, "copy"),
           word_axis("path", "kind of host memory, and which way", std::move(paths)),
           switch_axis("flush", "whether the host buffer is evicted from the CPU's caches before", "off"),
           size_axis("bytes", "bytes copied", {1, 1024 * kGiB}, true, "", {}, {"most"})},
          list};
}

}  // namespace grainscope::harness
