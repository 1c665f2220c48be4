// transfer/relay: what does a copy between the host and a GPU gain over the links of the GPU's neighbours?
//
// A part of the bytes goes to another GPU over that GPU's own link and from there on over what joins the two,
// and the same the other way. Copy engines pass it on chunk by chunk through buffers in the other GPU's
// memory; a kernel of the other GPU copies straight from one end to the other.
// Timed: all parts, between two events of the GPU at the end, behind a closed gate. The neighbours begin when
// the gate opens, and the second event waits for the last of them. Bytes: the copy's size, each once.
// Beside it, a few runs each: the same copy over its own link alone (`alone_gb_s`), and as many bytes over
// all links at once, each to its own GPU (`at_once_gb_s`), which is the most that relays could reach. Links
// that share a switch show there: together they are no faster than one. `share`: found by making the part of
// the neighbours larger or smaller until it takes as long as the rest. Source: no public suite measures this.
// Limits: one copy at a time; the neighbours do nothing else.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/mover.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

const char* const kFamily = "transfer/relay";
const char* const kToGpu = "pinned_to_gpu";
const char* const kToHost = "gpu_to_pinned";
const char* const kFound = "found";
const char* const kUsual = "usual";
constexpr int kLooks = 4;
constexpr std::uint64_t kMostLookedAt = 256 * kMiB;

// The share at which both parts of a copy take as long.
int find_share(Session& session, Transfer transfer) {
  const auto neighbours = static_cast<int>(relays_of(transfer).size());
  transfer.bytes = std::min(transfer.bytes, kMostLookedAt);
  transfer.relay.share = 100 * neighbours / (neighbours + 1);
  int best = transfer.relay.share;
  double best_s = std::numeric_limits<double>::infinity();
  std::vector<int> looked_at;
  for (int look = 0; look < kLooks; ++look) {
    const int share = transfer.relay.share;
    looked_at.push_back(share);
    const auto mover = transfer::make_mover(transfer, session.surroundings());
    const double seconds = median_s(*mover);
    static_cast<void>(mover->verify());
    if (seconds < best_s) {
      std::tie(best_s, best) = std::pair(seconds, share);
    }
    Measurement parts;
    mover->describe(parts);
    const double relayed = parts.counters.at("relayed_bytes");
    const double relay_rate = relayed / parts.counters.at("relays_s");
    const double direct_rate =
        (static_cast<double>(transfer.bytes) - relayed) / parts.counters.at("direct_s");
    const auto next = static_cast<int>(std::lround(100 * relay_rate / (relay_rate + direct_rate)));
    transfer.relay.share = std::clamp(next, 1, 99);
    if (std::find(looked_at.begin(), looked_at.end(), transfer.relay.share) != looked_at.end()) {
      break;
    }
  }
  return best;
}

// As many bytes over the links of the GPU and of its neighbours, each to its own GPU, all at once.
double at_once_s(Session& session, const Transfer& transfer) {
  std::vector<int> gpus = relays_of(transfer);
  gpus.push_back(transfer.gpu());
  std::vector<transfer::MoverLane> lanes;
  for (const int gpu : gpus) {
    Transfer lane = transfer;
    lane.relay = {};
    lane.bytes = transfer.bytes / gpus.size() / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    (lane.to_gpu() ? lane.destination : lane.source).id = gpu;
    lanes.push_back({transfer::make_lane(lane, session.surroundings())});
  }
  transfer::Mover mover(std::move(lanes), session.surroundings());
  const double seconds = median_s(mover, {});
  static_cast<void>(mover.verify());
  return seconds;
}

Measurement measure_relay(Session& session, Transfer transfer, bool share_is_found) {
  Transfer alone = transfer;
  alone.relay = {};
  const double alone_s = [&] {
    const auto mover = transfer::make_mover(alone, session.surroundings());
    return median_s(*mover);
  }();
  const double together_s = at_once_s(session, transfer);
  if (share_is_found) {
    transfer.relay.share = find_share(session, transfer);
  }
  Measurement measurement = measure_transfer(session, transfer);
  const auto bytes = static_cast<double>(transfer.bytes);
  const double rate = gb_per_s(bytes, measurement.samples.summary.median);
  const double alone_gb_s = gb_per_s(bytes, alone_s);
  const double at_once_gb_s = gb_per_s(bytes, together_s);
  measurement.counters["share"] = transfer.relay.share;
  measurement.counters["alone_gb_s"] = alone_gb_s;
  measurement.counters["at_once_gb_s"] = at_once_gb_s;
  measurement.counters["of_alone"] = rate / alone_gb_s;
  measurement.counters["of_at_once"] = rate / at_once_gb_s;
  return measurement;
}

Explanation explain(Engine engine) {
  return {
      "what a copy between the host and a GPU gains over the links of the GPU's neighbours",
      engine == Engine::sm
          ? "kernels on the GPU and on its neighbours, from the gate until the last is done, between two "
            "events of the GPU"
          : "copies over the GPU's link and, chunk by chunk, over its neighbours' and from there on, from "
            "the gate until the last is done, between two events of the GPU",
      "bandwidth = bytes / median time; of_alone = that over the copy on its own link; of_at_once = that "
      "over as many bytes on all links at once, each to its own GPU",
      "no public suite measures this", "one copy at a time; the neighbours do nothing else"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

  std::vector<Benchmark> list() {
    each_pair(machine_, grids_, [&](const GpuPair& pair, const Grid& grid) {
      for (const int node : grids_.nodes(grid, pair.gpu)) {
        for (const Values& values : grid.points()) {
          try {
            add(pair, node, values);
          } catch (const UsageError& error) {
            grids_.leave_out(error.what());
          }
        }
      }
    });
    return std::move(benchmarks_);
  }

 private:
  void add(const GpuPair& pair, int node, const Values& values) {
    Transfer transfer;
    transfer.engine = values.is("method", "kernel_copy") ? Engine::sm : Engine::copy_engine;
    transfer.source = Endpoint::host(Placement::pinned, node);
    transfer.destination = Endpoint::gpu(Placement::device, pair.gpu.ordinal);
    if (values.is("path", kToHost)) {
      std::swap(transfer.source, transfer.destination);
    }
    transfer.bytes = values.number("bytes");
    transfer.flush = true;
    const bool found = values.is("share", kFound);
    transfer.relay.share = found ? transfer.relay.share : values.number_as<int>("share");
    transfer.relay.chunk_bytes = values.is("chunk", kUsual) ? 0 : values.number("chunk");
    transfer.relay.buffers = values.number_as<int>("buffers");
    const auto neighbours = values.number("neighbours");
    transfer.relay.gpus = neighbours_of(pair, neighbours);
    require_possible(transfer);

    Benchmark benchmark = transfer_benchmark(kFamily,
                                             {{"method", values.at("method"), AxisStyle::bare},
                                              {"path", values.at("path"), AxisStyle::bare},
                                              {"neighbours", values.at("neighbours")},
                                              {"share", values.at("share")},
                                              {"chunk", values.at("chunk")},
                                              {"buffers", values.at("buffers")},
                                              {"link", pair.link, AxisStyle::hidden}},
                                             transfer, pair.gpu, explain(transfer.engine));
    benchmark.id.site.push_back({"peer", pair.peer});
    benchmark.skip_for(pair.unavailable);
    const auto there = machine_.runtime.devices.size();
    if (there <= neighbours) {
      benchmark.skip_for("needs " + std::to_string(neighbours + 1) + " GPUs; this machine has " +
                         std::to_string(there));
    } else {
      skip_without_relays(benchmark, machine_, transfer);
    }
    benchmark.run = [transfer, found](Session& session) { return measure_relay(session, transfer, found); };
    benchmarks_.push_back(std::move(benchmark));
  }

  // The pair's second GPU and those behind it, a bit each; on a machine that has fewer, nominal ones.
  [[nodiscard]] std::uint64_t neighbours_of(const GpuPair& pair, std::uint64_t count) const {
    const auto there = std::max<std::uint64_t>(machine_.runtime.devices.size(), count + 1);
    std::uint64_t gpus = 0;
    for (std::uint64_t next = 0; gpus == 0 || static_cast<std::uint64_t>(std::popcount(gpus)) < count;
         ++next) {
      const auto gpu = (static_cast<std::uint64_t>(pair.peer) + next) % there;
      if (gpu != static_cast<std::uint64_t>(pair.gpu.ordinal)) {
        gpus |= std::uint64_t{1} << gpu;
      }
    }
    return gpus;
  }

  const Machine& machine_;
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_relay() {
  return {kFamily,
          "What does a copy between host and GPU gain over the links of the GPU's neighbours?",
          {word_axis("method", "what moves the bytes", {"copy_engine", "kernel_copy"}, "copy_engine"),
           word_axis("path", "which way the bytes go", {kToGpu, kToHost}),
           number_axis("neighbours", "GPUs that pass bytes on", {1, 15}, "1"),
           number_axis("share", "percent of the bytes that they pass on; found: as much as keeps all busy",
                       {1, 99}, kFound, {kFound}),
           size_axis("chunk", "bytes that are passed on at once; usual: by the copy's size, of copy_engine",
                     {4096, kGiB}, false, kUsual, {kUsual}),
           number_axis("buffers", "chunks that a neighbour holds, of copy_engine", {1, 64}, "4"),
           size_axis("bytes", "bytes copied", {4, 1024 * kGiB})},
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return Lister(machine, grids).list();
          }};
}

}  // namespace grainscope::harness
