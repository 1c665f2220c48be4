// transfer/collective: what do the GPUs of a node reach when several of them move bytes at once?
//
// Timed: every lane between two events of its own GPU, all behind gates that open together; a sample is the
// time during which any lane ran. Every destination held other data before and is checked.
// `all_host_duplex` is both directions between the host and every GPU, a lane each way. Between GPUs the one
// that sends issues a copy, but in `all_from_one` and `one_from_all`, where the one that receives fetches.
// Bytes: those of all lanes. Source: nvbandwidth's all_to_host, host_to_all (bidirectional ones too),
// all_to_one and one_to_all tests; Comm|Scope, section 3.2.
// Limits: gates on different GPUs open within a microsecond of each other, not together; lanes that end first
// leave the link to the others, see `overlap`.

#include <algorithm>
#include <iterator>

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

const char* const kFamily = "transfer/collective";

struct Group {
  std::vector<int> gpus;
  std::string unavailable;
};

// All GPUs of the machine that were not excluded by --gpu, if they are two at least.
Group group_of(const Machine& machine, const Grids& grids, const Grid& grid) {
  Group group;
  for (const GpuPair& pair : gpu_pairs(machine, grids, grid)) {
    for (const int ordinal : {pair.gpu.ordinal, pair.peer}) {
      if (std::find(group.gpus.begin(), group.gpus.end(), ordinal) == group.gpus.end()) {
        group.gpus.push_back(ordinal);
      }
    }
    if (group.unavailable.empty()) {
      group.unavailable = pair.unavailable;
    }
  }
  std::sort(group.gpus.begin(), group.gpus.end());
  return group;
}

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

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list(const Grids& grids) {
    for (const Grid& grid : grids) {
      group_ = group_of(machine_, grids, grid);
      roots_ = grid.written("root") == "each" ? group_.gpus.size() : 1;
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
    benchmark.id = {kFamily,
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
    benchmark.explanation = {
        "what the GPUs of a node reach together",
        "each lane between two events of its own GPU, all behind gates that open together",
        "bandwidth = bytes of all lanes / median time during which any lane ran",
        "nvbandwidth, all_to_host, host_to_all, all_to_one, one_to_all, *_bidirectional",
        "gates on different GPUs open within a microsecond of each other, not together"};
    carry_out_together(benchmark, lanes);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Scope& scope_;
  Group group_;
  std::size_t roots_ = 1;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_collective() {
  return {kFamily,
          "What do the GPUs of a node reach when several of them move bytes at once?",
          {word_axis("pattern", "who sends to whom", pattern_names()),
           word_axis("method", "what moves the bytes", {"copy_engine", "kernel_copy"}),
           size_axis("bytes", "bytes of each lane", {4, 1024 * kGiB})},
          [](const Machine& machine, const Scope& scope, const Grids& grids) {
            return Lister(machine, scope).list(grids);
          }};
}

}  // namespace grainscope::harness
