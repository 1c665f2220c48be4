// transfer/peer: how fast do bytes go from one GPU to another, by whom, and with what between them?
//
// Timed: one copy, or one kernel, between two events behind a closed gate; prefetches, and copies without
// peer access, which the driver stages through the host, between two events on an idle stream. `read` is
// issued by the GPU that receives, `write` by the one that sends; `gpu` of the site is the one that issues
// it. Bytes: the copy's size. Source: Comm|Scope, section 3.2 and figure 8 (peer access on and off),
// sections 3.3 and 3.4; nvbandwidth's device_to_device tests. Limits: one transfer at a time; all pairs at
// once is transfer/collective.

#include <algorithm>
#include <iterator>
#include <optional>

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
  Lister(const Machine& machine, const Scope& scope, const Grids& grids)
      : machine_(machine), scope_(scope), grids_(grids) {}

  std::vector<Benchmark> list() {
    each_pair(machine_, grids_, [&](const GpuPair& pair, const Grid& grid) {
      for (const Values& values : grid.points()) {
        const Method& method =
            *std::find_if(std::begin(kMethods), std::end(kMethods),
                          [&](const Method& each) { return values.is("method", each.name); });
        const bool read = values.is("direction", "read");
        const Transfer transfer = make_transfer(method, pair, read, values.number("bytes"));
        if (!read && migrates(method)) {
          grids_.leave_out("managed pages come to the GPU that touches them: nobody sends them");
        } else if (values.on("access")) {
          add(pair, method, transfer, read, {});
        } else if (method.engine != Engine::copy_engine) {
          grids_.leave_out("without peer access only copies go between GPUs");
        } else {
          // The host is between them: it matters which node.
          for (const int node : grids_.nodes(grid, pair.gpu)) {
            add(pair, method, transfer, read, node);
          }
        }
      }
    });
    return std::move(benchmarks_);
  }

 private:
  // `staged_on`: the node through which a copy without peer access goes.
  void add(const GpuPair& pair, const Method& method, Transfer transfer, bool read,
           std::optional<int> staged_on) {
    transfer.peer_access = !staged_on;
    // The CPU that submits should be near, and need not be anywhere else.
    transfer.staging_node = staged_on.value_or(scope_.nearest_node(pair.gpu));
    Benchmark benchmark;
    benchmark.id = {kFamily,
                    {{"method", method.name, AxisStyle::bare},
                     {"direction", read ? "read" : "write", AxisStyle::bare},
                     {"access", staged_on ? "off" : "on"},
                     {"link", pair.link, AxisStyle::hidden},
                     {"bytes", static_cast<std::int64_t>(transfer.bytes)}},
                    {{"gpu", pair.gpu.ordinal}, {"peer", pair.peer}}};
    if (staged_on) {
      benchmark.id.axes.push_back({"locality", pair.gpu.locality(*staged_on), AxisStyle::hidden});
      benchmark.id.site.push_back({"numa", *staged_on});
    }
    benchmark.skip = staged_on || migrates(method) ? pair.unavailable : pair.why_no_access();
    if (migrates(method)) {
      benchmark.skip_for(why_no_migration(machine_, pair.gpu.ordinal));
    }
    benchmark.explanation = explain(method, !staged_on);
    carry_out(benchmark, transfer);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_peer() {
  return {kFamily,
          "How fast do bytes go from one GPU to another, by whom, and with what between them?",
          {word_axis("method", "what moves them",
                     names_of(kMethods, [](const Method& each) { return each.name; })),
           word_axis("direction", "whether the GPU that issues it receives or sends", {"read", "write"}),
           switch_axis("access", "whether it addresses the other's memory; else the host is between", "on"),
           size_axis("bytes", "bytes moved", {4, 1024 * kGiB})},
          [](const Machine& machine, const Scope& scope, const Grids& grids) {
            return Lister(machine, scope, grids).list();
          }};
}

}  // namespace grainscope::harness
