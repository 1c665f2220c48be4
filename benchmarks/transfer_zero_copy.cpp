// transfer/zero_copy: how fast does a kernel read or write host memory over the link, and how much of that
// depends on how its warps walk?
//
// Timed: one kernel between two events, behind a closed gate. Every load's result is used, and the sum of
// all words of all samples is checked; what is written is checked word by word on the host.
// Bytes: what the kernel asks for. Link traffic is modelled: the requests of a warp, grouped by 128-byte
// line, if caches kept every sector; `requests_without_cache` if they kept none.
// Source: EMOGI (Min et al., VLDB 2020), section 3.3, figures 3 and 4; Comm|Scope, section 3.3, figure 9.
// Limits: the order of addresses is regular; random access is another family's question.

#include <optional>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Allocation;
using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

const char* const kFamily = "transfer/zero_copy";
const char* const kFullGrid = "full";
constexpr Allocation kAllocations[] = {Allocation::host_alloc, Allocation::registered,
                                       Allocation::accessed_by};

Explanation explain(const Transfer& transfer) {
  Explanation text;
  text.measures = transfer.to_gpu() ? "the bandwidth of a kernel that reads host memory over the link"
                                    : "the bandwidth of a kernel that writes host memory over the link";
  text.timed = "one kernel between two events, submitted beforehand behind a closed gate";
  text.formula = "bandwidth = bytes asked for / median time; what crosses the link is under `traffic`";
  text.source = "EMOGI, section 3.3 and figures 3, 4; Comm|Scope, section 3.3 and figure 9";
  text.limits = "regular order of addresses; one kernel at a time";
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

Benchmark make_benchmark(const Machine& machine, const GpuTarget& gpu, int node, const Values& values,
                         const Walk& walk) {
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
  transfer.flush = transfer.allocation != Allocation::accessed_by;
  transfer.walk = walk;
  Benchmark benchmark = transfer_benchmark(kFamily,
                                           {{"direction", values.at("direction"), AxisStyle::bare},
                                            {"access", values.at("access"), AxisStyle::bare},
                                            {"allocation", values.at("allocation")},
                                            {"offset", values.at("offset")},
                                            {"width", values.at("width")},
                                            {"blocks", values.at("blocks")},
                                            {"threads", values.at("threads")}},
                                           transfer, gpu, explain(transfer));
  benchmark.skip_for(why_no_mapping(machine, gpu.ordinal));
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      if (const auto walk = walk_of(values, grids)) {
        benchmarks.push_back(make_benchmark(machine, gpu, node, values, *walk));
      }
    }
  });
  return benchmarks;
}

}  // namespace

Family transfer_zero_copy() {
  return {kFamily,
          "How fast does a kernel read or write host memory, and what does the way its warps walk change?",
          {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
           word_axis("access", "how a warp walks", {"strided", "merged", "merged_aligned"}, "merged_aligned"),
           word_axis("allocation", "how the memory came to be",
                     names_of(kAllocations, [](Allocation each) { return name(each); }), "host_alloc"),
           size_axis("offset", "of the first element behind a boundary of 128 bytes", {0, 124}, false, "0"),
           choice_axis("width", "bytes of an access", {4, 8, 16}, "4"),
           number_axis("blocks", "blocks of the grid", {1, 65536}, kFullGrid, {kFullGrid}),
           number_axis("threads", "threads of a block", {32, 1024}, "1024"),
           size_axis("bytes", "bytes that the kernel asks for", {4, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
