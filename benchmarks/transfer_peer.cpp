// transfer/peer: how fast do bytes go from one GPU to another, by whom, and with what between them?
//
// Timed: one copy, or one kernel, between two events behind a closed gate; prefetches, and copies without
// peer access, which the driver stages through the host, between two events on an idle stream. `read` is
// issued by the GPU that receives, `write` by the one that sends; `gpu` of the site is the one that issues
// it. Bytes: the copy's size. Source: Comm|Scope, section 3.2 and figure 8 (peer access on and off),
// sections 3.3 and 3.4; nvbandwidth's device_to_device tests. Limits: one transfer at a time; all pairs at
// once is transfer/collective.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "peer_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

constexpr std::uint64_t kSmallest = 4 * kKiB;
constexpr std::uint64_t kLargest = 4 * kGiB;         // a launch is then no part of what is measured
constexpr std::uint64_t kLargestHeavy = 256 * kMiB;  // of what takes the driver long

const char* const kFamily = "transfer/peer";

struct Method {
  const char* name;
  Engine engine;
  Placement here;   // the end of the GPU that issues it
  Placement there;  // the peer's
};
constexpr Method kMethods[] = {
    {"copy_engine", Engine::copy_engine, Placement::device, Placement::device},
    {"kernel_copy", Engine::sm, Placement::device, Placement::device},
    {"zero_copy", Engine::sm, Placement::registers, Placement::device},
    {"demand", Engine::fault, Placement::managed, Placement::managed},
    {"prefetch", Engine::prefetch, Placement::managed, Placement::managed},
};

bool migrates(const Method& method) {
  return method.here == Placement::managed;
}

Transfer make_transfer(const Method& method, const GpuPair& pair, bool read, std::uint64_t bytes) {
  Transfer transfer;
  transfer.engine = method.engine;
  transfer.source = Endpoint::gpu(method.there, pair.peer);
  transfer.destination = Endpoint::gpu(method.here, pair.gpu.ordinal);
  if (!read) {
    std::swap(transfer.source, transfer.destination);
  }
  transfer.by_source = !read;
  transfer.walk.width_bytes = 16;
  transfer.bytes = bytes;
  return transfer;
}

Explanation explain(const Method& method, bool access) {
  Explanation text;
  text.measures = std::string("the bandwidth from one GPU's memory to another's by ") + method.name +
                  (access ? "" : ", staged through the host since neither may reach the other's memory");
  text.timed = method.engine == Engine::prefetch || !access
                   ? "the call between two events on an idle stream; the driver works within the call"
                   : "one copy or kernel between two events, submitted beforehand behind a closed gate";
  text.formula = "bandwidth = bytes / median time";
  text.source = "Comm|Scope, section 3.2 and figure 8, sections 3.3 and 3.4; nvbandwidth, device_to_device";
  text.limits =
      migrates(method)
          ? "where pages live is told by how fast they answer; sizes stay below a quarter of what is free"
          : "one transfer at a time";
  return text;
}

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuPair& pair : gpu_pairs(machine_, scope_)) {
      for (const Method& method : kMethods) {
        for (const bool read : {true, false}) {
          // Managed pages are fetched by who needs them: nobody sends them.
          if (read || !migrates(method)) {
            add_sizes(pair, method, read, true);
          }
        }
      }
      add_staged(pair);
    }
    return std::move(benchmarks_);
  }

 private:
  void add_sizes(const GpuPair& pair, const Method& method, bool read, bool access) {
    const std::uint64_t smallest = migrates(method) || !access ? 64 * kKiB : kSmallest;
    for (const std::uint64_t bytes : scope_.sizes(smallest, migrates(method) ? kLargestHeavy : kLargest)) {
      add(pair, method, make_transfer(method, pair, read, bytes), read, access, {});
    }
  }

  // The host is between them: it matters which node. `quick` has one of the two GPUs issue it.
  void add_staged(const GpuPair& pair) {
    for (const int node : scope_.nodes_for(pair.gpu)) {
      for (const bool read : {true, false}) {
        if (read || scope_.preset != Preset::quick) {
          add_staged(pair, node, read);
        }
      }
    }
  }

  void add_staged(const GpuPair& pair, int node, bool read) {
    for (const std::uint64_t bytes : scope_.sizes(64 * kKiB, kLargestHeavy)) {
      Transfer transfer = make_transfer(kMethods[0], pair, read, bytes);
      transfer.peer_access = false;
      transfer.staging_node = node;
      add(pair, kMethods[0], transfer, read, false, node);
    }
  }

  void add(const GpuPair& pair, const Method& method, Transfer transfer, bool read, bool access,
           std::optional<int> node) {
    if (!node) {
      // The CPU that submits should be near, and need not be anywhere else.
      transfer.staging_node = scope_.nearest_node(pair.gpu);
    }
    Benchmark benchmark;
    benchmark.id = {kFamily,
                    {{"method", method.name, AxisStyle::bare},
                     {"direction", read ? "read" : "write", AxisStyle::bare},
                     {"access", access ? "on" : "off"},
                     {"link", pair.link, AxisStyle::hidden},
                     {"bytes", static_cast<std::int64_t>(transfer.bytes)}},
                    {{"gpu", pair.gpu.ordinal}, {"peer", pair.peer}}};
    if (node) {
      benchmark.id.axes.push_back({"locality", pair.gpu.locality(*node), AxisStyle::hidden});
      benchmark.id.site.push_back({"numa", *node});
    }
    benchmark.skip = access && !migrates(method) ? pair.why_no_access() : pair.unavailable;
    if (migrates(method)) {
      benchmark.skip_for(why_no_migration(machine_, pair.gpu.ordinal));
    }
    benchmark.explanation = explain(method, access);
    carry_out(benchmark, transfer);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_peer() {
  return {kFamily, "How fast do bytes go from one GPU to another, by whom, and with what between them?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
