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
Group group_of(const Machine& machine, const Scope& scope) {
  Group group;
  for (const GpuPair& pair : gpu_pairs(machine, scope)) {
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

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope)
      : machine_(machine), scope_(scope), group_(group_of(machine, scope)) {}

  std::vector<Benchmark> list() {
    const std::vector<std::uint64_t> sizes =
        scope_.dense() ? scope_.sizes(kMiB, 512 * kMiB) : scope_.one_size(256 * kMiB);
    for (const std::uint64_t bytes : sizes) {
      for (const Engine engine : {Engine::copy_engine, Engine::sm}) {
        add_host_patterns(engine, bytes);
        add_peer_patterns(engine, bytes);
      }
    }
    return std::move(benchmarks_);
  }

 private:
  void add_host_patterns(Engine engine, std::uint64_t bytes) {
    for (const int node : scope_.nodes) {
      std::vector<PlannedLane> to_host;
      std::vector<PlannedLane> to_gpus;
      std::vector<PlannedLane> both;
      for (const int gpu : group_.gpus) {
        const Endpoint host = Endpoint::host(Placement::pinned, node);
        const Endpoint card = Endpoint::gpu(Placement::device, gpu);
        to_host.push_back(lane_of(make_copy(card, host, engine, node, bytes)));
        to_gpus.push_back(lane_of(make_copy(host, card, engine, node, bytes)));
        both.insert(both.end(), {to_gpus.back(), to_host.back()});
      }
      add("all_to_host", engine, bytes, to_host, {{"numa", node}}, false);
      add("host_to_all", engine, bytes, to_gpus, {{"numa", node}}, false);
      add("all_host_duplex", engine, bytes, both, {{"numa", node}}, false);
    }
  }

  void add_peer_patterns(Engine engine, std::uint64_t bytes) {
    const int node = scope_.nodes.empty() ? 0 : scope_.nodes.front();
    const auto between = [&](int from, int to, bool fetched = false) {
      return lane_of(make_copy(Endpoint::gpu(Placement::device, from), Endpoint::gpu(Placement::device, to),
                               engine, node, bytes, fetched));
    };
    const std::vector<int>& gpus = group_.gpus;
    std::vector<PlannedLane> pairs;
    std::vector<PlannedLane> ring;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      std::vector<PlannedLane> from_one;
      std::vector<PlannedLane> to_one;
      std::vector<PlannedLane> fetched_from_one;
      std::vector<PlannedLane> fetched_by_one;
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        if (i != j) {
          from_one.push_back(between(gpus[i], gpus[j]));
          to_one.push_back(between(gpus[j], gpus[i]));
          fetched_from_one.push_back(between(gpus[i], gpus[j], true));
          fetched_by_one.push_back(between(gpus[j], gpus[i], true));
          pairs.push_back(from_one.back());
        }
      }
      ring.push_back(between(gpus[i], gpus[(i + 1) % gpus.size()]));
      if (i == 0 || scope_.dense()) {
        add("one_to_all", engine, bytes, from_one, {{"gpu", gpus[i]}}, true);
        add("all_to_one", engine, bytes, to_one, {{"gpu", gpus[i]}}, true);
        add("all_from_one", engine, bytes, fetched_from_one, {{"gpu", gpus[i]}}, true);
        add("one_from_all", engine, bytes, fetched_by_one, {{"gpu", gpus[i]}}, true);
      }
    }
    add("all_pairs", engine, bytes, pairs, {}, true);
    add("ring", engine, bytes, ring, {}, true);
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
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_collective() {
  return {kFamily, "What do the GPUs of a node reach when several of them move bytes at once?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
