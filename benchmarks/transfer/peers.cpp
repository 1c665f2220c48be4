// The families of transfers between GPUs: transfer/peer and transfer/collective. Each part opens with its
// question.

#include <algorithm>
#include <iterator>
#include <optional>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

// transfer/peer

constexpr About kAboutTransferPeer{
    .question = "How fast do bytes go from one GPU to another, by whom, and with what between them?",
    .timed =
        "one copy, or one kernel, between two events behind a closed gate; prefetches, and copies without "
        "peer access, which the driver stages through the host, between two events on an idle stream. `read` "
        "is issued by the GPU that receives, `write` by the one that sends; `gpu` of the site is the one "
        "that issues it",
    .formula = "bandwidth = bytes / median time",
    .source =
        "Comm|Scope, section 3.2 and figure 8 (peer access on and off), sections 3.3 and 3.4; nvbandwidth's "
        "device_to_device tests",
    .limits = "one transfer at a time; all pairs at once is transfer/collective",
};

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

const char* const kPeerFamily = "transfer/peer";

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
  if (migrates(method)) {
    text.limits =
        "where pages live is told by how fast they answer; sizes stay below a quarter of what is free";
  }
  return text;
}

class PeerLister {
 public:
  PeerLister(const Machine& machine, const Scope& scope, const Grids& grids)
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
    benchmark.id = {kPeerFamily,
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
  return {kPeerFamily,
          kAboutTransferPeer,
          {word_axis("method", "what moves them",
                     names_of(kMethods, [](const Method& each) { return each.name; })),
           word_axis("direction", "whether the GPU that issues it receives or sends", {"read", "write"}),
           switch_axis("access", "whether it addresses the other's memory; else the host is between", "on"),
           size_axis("bytes", "bytes moved", {4, 1024 * kGiB}), gpu_axis(), node_axis(), pairs_axis(),
           orders_axis()},
          [](const Machine& machine, const Scope& scope, const Grids& grids) {
            return PeerLister(machine, scope, grids).list();
          }};
}

namespace {

// transfer/collective

constexpr About kAboutTransferCollective{
    .question = "What do the GPUs of a node reach when several of them move bytes at once?",
    .timed =
        "every lane between two events of its own GPU, all behind gates that open together; a sample is the "
        "time during which any lane ran. Every destination held other data before and is checked. "
        "`all_host_duplex` is both directions between the host and every GPU, a lane each way. Between GPUs "
        "the one that sends issues a copy, but in `all_from_one` and `one_from_all`, where the one that "
        "receives fetches",
    .formula = "bandwidth = bytes of all lanes / median time during which any lane ran",
    .source =
        "nvbandwidth's all_to_host, host_to_all (bidirectional ones too), all_to_one and one_to_all tests; "
        "Comm|Scope, section 3.2",
    .limits =
        "gates on different GPUs open within a microsecond of each other, not together; lanes that end first "
        "leave the link to the others, see `overlap`",
};

const char* const kCollectiveFamily = "transfer/collective";

// Between GPUs the source issues it; `fetched`, the destination does.
Transfer make_copy(const Endpoint& source, const Endpoint& destination, Engine engine, int node,
                   std::uint64_t bytes, bool fetched = false) {
  Transfer copy;
  copy.source = source;
  copy.destination = destination;
  copy.engine = engine;
  copy.bytes = bytes;
  copy.by_source = !source.on_host() && !fetched;
  copy.staging_node = node;
  return copy;
}

PlannedLane lane_of(const Transfer& copy) {
  const auto text = [](const Endpoint& end) {
    return end.on_host() ? std::string("host") : "gpu" + std::to_string(end.id);
  };
  return {text(copy.source) + "_to_" + text(copy.destination), copy, {}, false, 1};
}

// Which way bytes go between the host and every GPU.
struct HostPattern {
  const char* name;
  bool to_gpus;
  bool to_host;
};
constexpr HostPattern kHostPatterns[] = {
    {"all_to_host", false, true}, {"host_to_all", true, false}, {"all_host_duplex", true, true}};

// Between one GPU and every other; `fetched`, by those that receive.
struct RootPattern {
  const char* name;
  bool from_root;
  bool fetched;
};
constexpr RootPattern kRootPatterns[] = {{"one_to_all", true, false},
                                         {"all_to_one", false, false},
                                         {"all_from_one", true, true},
                                         {"one_from_all", false, true}};
constexpr const char* kRing = "ring";
constexpr const char* kAllPairs = "all_pairs";

template <class Pattern>
const char* name_of(const Pattern& pattern) {
  return pattern.name;
}

// The pattern of `patterns` that is named so; their end where none is.
template <class Patterns>
auto find_pattern(const Patterns& patterns, const std::string& wanted) {
  return std::find_if(std::begin(patterns), std::end(patterns),
                      [&](const auto& each) { return each.name == wanted; });
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names = names_of(kHostPatterns, name_of<HostPattern>);
  for (const RootPattern& pattern : kRootPatterns) {
    names.emplace_back(pattern.name);
  }
  names.insert(names.end(), {kAllPairs, kRing});
  return names;
}

class CollectiveLister {
 public:
  CollectiveLister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list(const Grids& grids) {
    for (const Grid& grid : grids) {
      group_ = gpu_group(machine_, grids, grid);
      roots_ = grid.word("root") == "each" ? group_.gpus.size() : 1;
      for (const Values& values : grid.points()) {
        const Engine engine = values.is("method", "kernel_copy") ? Engine::sm : Engine::copy_engine;
        const std::string& pattern = values.word("pattern");
        if (const auto named = find_pattern(kHostPatterns, pattern); named != std::end(kHostPatterns)) {
          add_with_host(*named, engine, values.number("bytes"));
        } else {
          add_between(pattern, engine, values.number("bytes"));
        }
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add_with_host(const HostPattern& pattern, Engine engine, std::uint64_t bytes) {
    for (const int node : scope_.nodes) {
      std::vector<PlannedLane> lanes;
      for (const int gpu : group_.gpus) {
        const Endpoint host = Endpoint::host(Placement::pinned, node);
        const Endpoint card = Endpoint::gpu(Placement::device, gpu);
        if (pattern.to_gpus) {
          lanes.push_back(lane_of(make_copy(host, card, engine, node, bytes)));
        }
        if (pattern.to_host) {
          lanes.push_back(lane_of(make_copy(card, host, engine, node, bytes)));
        }
      }
      add(pattern.name, engine, bytes, lanes, {{"numa", node}}, false);
    }
  }

  [[nodiscard]] PlannedLane between(int from, int to, Engine engine, std::uint64_t bytes,
                                    bool fetched) const {
    return lane_of(make_copy(Endpoint::gpu(Placement::device, from), Endpoint::gpu(Placement::device, to),
                             engine, scope_.nodes.empty() ? 0 : scope_.nodes.front(), bytes, fetched));
  }

  void add_between(const std::string& pattern, Engine engine, std::uint64_t bytes) {
    const std::vector<int>& gpus = group_.gpus;
    if (const auto root = find_pattern(kRootPatterns, pattern); root != std::end(kRootPatterns)) {
      for (std::size_t i = 0; i < roots_; ++i) {
        std::vector<PlannedLane> lanes;
        for (const int other : gpus) {
          if (other != gpus[i]) {
            lanes.push_back(root->from_root ? between(gpus[i], other, engine, bytes, root->fetched)
                                            : between(other, gpus[i], engine, bytes, root->fetched));
          }
        }
        add(root->name, engine, bytes, lanes, {{"gpu", gpus[i]}}, true);
      }
      return;
    }
    std::vector<PlannedLane> lanes;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (pattern == kRing) {
        lanes.push_back(between(gpus[i], gpus[(i + 1) % gpus.size()], engine, bytes, false));
        continue;
      }
      for (const int other : gpus) {
        if (other != gpus[i]) {
          lanes.push_back(between(gpus[i], other, engine, bytes, false));
        }
      }
    }
    add(pattern.c_str(), engine, bytes, lanes, {}, true);
  }

  void add(const char* pattern, Engine engine, std::uint64_t bytes, const std::vector<PlannedLane>& lanes,
           std::vector<Site> site, bool between_gpus) {
    Benchmark benchmark;
    benchmark.id = {kCollectiveFamily,
                    {{"pattern", pattern, AxisStyle::bare},
                     {"method", engine == Engine::sm ? "kernel_copy" : "copy_engine", AxisStyle::bare},
                     {"gpus", static_cast<std::int64_t>(group_.gpus.size())},
                     {"bytes", static_cast<std::int64_t>(bytes)}},
                    std::move(site)};
    benchmark.skip = group_.unavailable;
    for (const PlannedLane& lane : lanes) {
      if (between_gpus) {
        benchmark.skip_for(why_no_peer_access(machine_, lane.transfer->gpu(), lane.transfer->peer()));
      } else if (engine == Engine::sm) {
        benchmark.skip_for(why_no_mapping(machine_, lane.transfer->gpu()));
      }
    }
    carry_out_together(benchmark, lanes);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  GpuGroup group_;
  std::size_t roots_ = 1;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_collective() {
  return {kCollectiveFamily,
          kAboutTransferCollective,
          {word_axis("pattern", "who sends to whom", pattern_names()),
           word_axis("method", "what moves the bytes", {"copy_engine", "kernel_copy"}),
           size_axis("bytes", "bytes of each lane", {4, 1024 * kGiB}),
           place_axis("root", "which GPU is the one of patterns around one: the first, or each in turn",
                      {"first", "each"}, "each"),
           following_axis("gpus", "that take part"), gpu_axis(), members_axis()},
          [](const Machine& machine, const Scope& scope, const Grids& grids) {
            return CollectiveLister(machine, scope).list(grids);
          }};
}

}  // namespace grainscope::harness
