// transfer/zero_copy: how fast does a kernel read or write host memory over the link, and how much of that
// depends on how its warps walk?
//
// Timed: one kernel between two events, behind a closed gate. Every load's result is used, and the sum of
// all words of all samples is checked; what is written is checked word by word on the host.
// Bytes: what the kernel asks for. Link traffic is modelled: the requests of a warp, grouped by 128-byte
// line, if caches kept every sector; `requests_without_cache` if they kept none.
// Source: EMOGI (Min et al., VLDB 2020), section 3.3, figures 3 and 4; Comm|Scope, section 3.3, figure 9.
// Limits: the order of addresses is regular; random access is another family's question.

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

constexpr std::uint64_t kSmallest = 4 * kKiB;
constexpr std::uint64_t kLargest = kGiB;
constexpr std::uint64_t kToyBytes = 256 * kMiB;
constexpr std::uint64_t kFewBlocksBytes = 64 * kMiB;

// 256 blocks of 256 threads, 4-byte accesses.
constexpr Walk kCommScopeGrid{Walk::Pattern::merged, 0, 4, 256, 256};

const char* const kFamily = "transfer/zero_copy";

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

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        for (const bool read : {true, false}) {
          add_sizes(gpu, node, read);
          add_accesses(gpu, node, read);
          add_grids(gpu, node, read);
          add_allocations(gpu, node, read);
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add(const GpuTarget& gpu, int node, bool read, std::uint64_t bytes, const Walk& walk,
           Allocation allocation = Allocation::host_alloc) {
    Transfer transfer;
    transfer.engine = Engine::sm;
    transfer.source = Endpoint::host(Placement::mapped, node);
    transfer.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
    if (!read) {
      std::swap(transfer.source, transfer.destination);
    }
    transfer.bytes = bytes;
    transfer.flush = allocation != Allocation::accessed_by;
    transfer.walk = walk;
    transfer.allocation = allocation;
    const AxisValue blocks = walk.blocks == 0 ? AxisValue("full") : AxisValue(std::int64_t{walk.blocks});
    Benchmark benchmark = transfer_benchmark(kFamily,
                                             {{"direction", read ? "read" : "write", AxisStyle::bare},
                                              {"access", access_name(walk), AxisStyle::bare},
                                              {"allocation", name(allocation)},
                                              {"offset", std::int64_t{walk.offset_bytes}},
                                              {"width", std::int64_t{walk.width_bytes}},
                                              {"blocks", blocks},
                                              {"threads", std::int64_t{walk.threads}}},
                                             transfer, gpu, explain(transfer));
    benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
    const std::string name = benchmark.id.name();
    // The axes cross at a few points; each is listed once.
    for (const Benchmark& listed : benchmarks_) {
      if (listed.id.name() == name) {
        return;
      }
    }
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_sizes(const GpuTarget& gpu, int node, bool read) {
    for (const std::uint64_t bytes : scope_.sizes(kSmallest, scope_.end(kLargest, 256 * kMiB, kLargest))) {
      add(gpu, node, read, bytes, Walk{});
      if (scope_.preset == Preset::paper) {
        add(gpu, node, read, bytes, kCommScopeGrid);
      }
    }
  }

  // EMOGI's toy: the three ways to walk, and each width that the alignment allows.
  void add_accesses(const GpuTarget& gpu, int node, bool read) {
    const std::vector<int> widths = scope_.preset == Preset::smoke ? std::vector{4} : std::vector{4, 8, 16};
    for (const std::uint64_t bytes : scope_.one_size(kToyBytes)) {
      for (const int width : widths) {
        add(gpu, node, read, bytes, {Walk::Pattern::merged, 0, width});
        if (width > 4 && !scope_.dense()) {
          continue;
        }
        add(gpu, node, read, bytes, {Walk::Pattern::strided, 0, width});
        for (const int offset : {4, 32, 64}) {
          if (offset % width == 0) {
            add(gpu, node, read, bytes, {Walk::Pattern::merged, offset, width});
          }
        }
      }
    }
  }

  // From one block to a full GPU: how few warps keep the link busy.
  void add_grids(const GpuTarget& gpu, int node, bool read) {
    if (scope_.preset == Preset::smoke || (!read && !scope_.dense())) {
      return;
    }
    const std::vector<int> grids = scope_.preset == Preset::paper
                                       ? std::vector{1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128}
                                   : scope_.preset == Preset::full ? std::vector{1, 2, 4, 8, 16, 32, 64, 128}
                                                                   : std::vector{1, 4, 8, 16, 32, 64};
    const std::vector<int> widths = scope_.dense() ? std::vector{4, 8, 16} : std::vector{4, 16};
    for (const std::uint64_t bytes : scope_.one_size(kFewBlocksBytes)) {
      for (const int width : widths) {
        for (const int blocks : grids) {
          add(gpu, node, read, bytes, {Walk::Pattern::merged, 0, width, blocks});
        }
      }
    }
  }

  void add_allocations(const GpuTarget& gpu, int node, bool read) {
    for (const std::uint64_t bytes : scope_.one_size(kToyBytes)) {
      for (const Allocation allocation :
           {Allocation::host_alloc, Allocation::registered, Allocation::accessed_by}) {
        add(gpu, node, read, bytes, Walk{}, allocation);
      }
    }
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_zero_copy() {
  return {kFamily,
          "How fast does a kernel read or write host memory, and what does the way its warps walk change?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
