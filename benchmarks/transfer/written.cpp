// transfer/written

#include <algorithm>
#include <set>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/transfer/written.hpp"
#include "harness/link_peaks.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

constexpr About kAboutTransferWritten{
    .question = "How fast do the transfers go that --transfer writes down?",
    .timed =
        "as in the families whose lanes these are: one transfer as in transfer/memcpy, transfer/peer or "
        "transfer/managed, several that start at once as in transfer/duplex and contention. The GPU that "
        "issues the first transfer is `gpu` of the site, the next that is named `peer`",
    .formula = "bandwidth = bytes of the measured lanes / median time",
    .source = "TransferBench (ROCm/TransferBench), whose lines name source, executor and destination",
    .limits =
        "listed where --transfer is given, and then alone; what a line does not say is as docs/transfer.md "
        "has it",
};

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;
using transfer::WrittenLane;
using transfer::WrittenLanes;

const char* const kFamily = "transfer/written";

// A GPU or node that is not here is a mistake in the line.
template <class Look>
auto found_here(const WrittenLanes& lanes, const Look& look) {
  try {
    return look();
  } catch (const EnvironmentError& missing) {
    throw UsageError("--transfer '" + to_text(lanes) + "': " + missing.what());
  }
}

// The second of something has "_2" behind its name.
std::string numbered(const std::string& key, std::size_t place) {
  return place == 0 ? key : key + "_" + std::to_string(place + 1);
}

// A line as a case: GPUs and nodes have names in the order in which it comes to them, and numbers in the
// site.
class Named {
 public:
  // The GPU that issues the first lane is the first.
  std::string gpu(int ordinal) {
    const std::size_t place = place_of(ordinal, gpus_);
    return place == 1 ? "peer" : numbered("gpu", place);
  }
  std::string node(int id) { return numbered("host", place_of(id, nodes_)); }
  std::string end(const Endpoint& end) {
    return (end.on_host() ? node(end.id) : gpu(end.id)) + "_" + name(end.placement);
  }

  [[nodiscard]] std::vector<Site> site() const {
    std::vector<Site> site;
    site.reserve(nodes_.size() + gpus_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      site.push_back({numbered("numa", i), nodes_[i]});
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      site.push_back({i == 1 ? "peer" : numbered("gpu", i), gpus_[i]});
    }
    return site;
  }

 private:
  static std::size_t place_of(int id, std::vector<int>& ids) {
    const auto found = std::find(ids.begin(), ids.end(), id);
    const auto place = static_cast<std::size_t>(found - ids.begin());
    if (found == ids.end()) {
      ids.push_back(id);
    }
    return place;
  }

  std::vector<int> gpus_;
  std::vector<int> nodes_;
};

class Lister {
 public:
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  [[nodiscard]] std::vector<Benchmark> list() const {
    std::vector<Benchmark> benchmarks;
    std::set<std::string> names;
    for (const WrittenLanes& lanes : scope_.transfers) {
      try {
        Benchmark benchmark = make_benchmark(lanes);
        if (!names.insert(benchmark.id.name()).second) {
          throw UsageError("it is written twice: results could not be told apart");
        }
        if (scope_.in_range(lanes.front().transfer.bytes)) {
          benchmarks.push_back(std::move(benchmark));
        }
      } catch (const Error& error) {
        // A GPU or node that is not here is a mistake in the line.
        throw UsageError("--transfer '" + to_text(lanes) + "': " + error.what());
      }
    }
    return benchmarks;
  }

 private:
  [[nodiscard]] GpuTarget target(int gpu) const {
    return machine_.runtime.devices.empty() ? GpuTarget{gpu, machine_.runtime.why_none, {}}
                                            : gpu_targets(machine_, {gpu}).front();
  }

  // Where no node is written, the one nearest to the GPU.
  [[nodiscard]] Transfer placed(Transfer transfer) const {
    int& node = transfer.source.on_host()        ? transfer.source.id
                : transfer.destination.on_host() ? transfer.destination.id
                                                 : transfer.staging_node;
    node = node == transfer::kNodeNotSaid ? scope_.nearest_node(target(transfer.gpu()))
                                          : node_targets(machine_, {node}).front();
    return transfer;
  }

  void skip_where_impossible(Benchmark& benchmark, const Transfer& transfer) const {
    const bool managed = transfer.source.placement == Placement::managed;
    benchmark.skip_for(target(transfer.gpu()).unavailable);
    if (!transfer.between_gpus() && transfer.engine == Engine::sm) {
      benchmark.skip_for(why_no_mapping(machine_, transfer.gpu()));
    }
    if (transfer.between_gpus() && !transfer.within_gpu()) {
      benchmark.skip_for(target(transfer.peer()).unavailable);
      if (!managed && transfer.peer_access) {
        benchmark.skip_for(why_no_peer_access(machine_, transfer.gpu(), transfer.peer()));
      }
    }
    skip_without_relays(benchmark, machine_, transfer);
    if (managed) {
      benchmark.skip_for(why_no_migration(machine_, transfer.gpu()));
    }
  }

  // What stands between the ends, and which way bytes go: it follows from the ends and the site.
  void add_place(std::vector<Axis>& axes, const Transfer& transfer, std::size_t lane) const {
    const auto add = [&](const char* key, const std::string& value) {
      axes.push_back({numbered(key, lane), value, AxisStyle::hidden});
    };
    if (!transfer.between_gpus()) {
      add("path", transfer.to_gpu() ? "host_to_gpu" : "gpu_to_host");
    } else if (!transfer.within_gpu()) {
      add("direction", transfer.by_source ? "write" : "read");
      add("link", peer_wire(machine_, transfer.gpu(), transfer.peer()).link);
    }
    if (!transfer.between_gpus() || !transfer.peer_access) {
      add("locality", target(transfer.gpu()).locality(transfer.node()));
    }
  }

  // `transfer`: that of the lane, with its node.
  void add_axes(std::vector<Axis>& axes, Named& named, const WrittenLane& lane, const Transfer& transfer,
                std::size_t place) const {
    const std::string gpu = named.gpu(transfer.gpu());
    if (lane.computing_ms > 0) {
      axes.push_back({numbered("engine", place), "compute_" + gpu, AxisStyle::bare});
      axes.push_back({numbered("computing_ms", place), std::int64_t{lane.computing_ms}});
      return;
    }
    axes.push_back({numbered("from", place), named.end(transfer.source), AxisStyle::bare});
    axes.push_back({numbered("to", place), named.end(transfer.destination), AxisStyle::bare});
    axes.push_back({numbered("engine", place), name(transfer.engine), AxisStyle::bare});
    std::string via;
    for (const int relay : transfer::relays_of(transfer)) {
      via += (via.empty() ? "" : "+") + named.gpu(relay);
    }
    for (const auto& [word, value] : options_of(lane)) {
      if (word == "via") {
        axes.push_back({numbered(word, place), via});
      } else if (word != "node") {
        axes.push_back({numbered(word, place), value});
      }
    }
    // Between GPUs the node is told where it was asked for, and where the host is between them.
    if (lane.transfer.staging_node >= 0 || !transfer.peer_access) {
      named.node(transfer.node());
    }
    add_place(axes, transfer, place);
  }

  [[nodiscard]] Benchmark make_benchmark(const WrittenLanes& lanes) const {
    Benchmark benchmark;
    benchmark.id.family = kFamily;
    Named named;
    std::vector<PlannedLane> planned;
    const std::uint64_t bytes = lanes.front().transfer.bytes;
    for (const WrittenLane& lane : lanes) {
      const std::size_t place = planned.size();
      const Transfer transfer = placed(lane.transfer);
      add_axes(benchmark.id.axes, named, lane, transfer, place);
      skip_where_impossible(benchmark, transfer);
      PlannedLane plan{"lane_" + std::to_string(place + 1), transfer, {}, lane.background, lane.repeats};
      if (lane.computing_ms > 0) {
        plan.transfer.reset();
        plan.computing = {transfer.gpu(), transfer.node(), lane.computing_ms / 1e3};
      } else if (transfer.bytes != bytes) {
        benchmark.id.axes.push_back({numbered("bytes", place), static_cast<std::int64_t>(transfer.bytes)});
      }
      planned.push_back(std::move(plan));
    }
    benchmark.id.axes.push_back({"bytes", static_cast<std::int64_t>(bytes)});
    benchmark.id.site = named.site();
    benchmark.explanation = {
        .measures = "how fast this goes: " + to_text(lanes),
        .timed = lanes.size() == 1
                     ? "as in transfer/memcpy, transfer/peer and transfer/managed: between two events "
                       "behind a closed gate; on the host's clock where the CPU has a part in it"
                     : "each lane by itself, all started at the same moment; a sample is the time any "
                       "measured lane ran; each also alone"};
    if (planned.size() == 1) {
      carry_out(benchmark, *planned.front().transfer);
    } else {
      carry_out_together(benchmark, planned);
    }
    return benchmark;
  }

  const Machine& machine_;
  const Scope& scope_;
};

}  // namespace

Family transfer_written() {
  return {kFamily,
          kAboutTransferWritten,
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return Lister(machine, scope).list();
          },
          /*written=*/true};
}

}  // namespace grainscope::harness
