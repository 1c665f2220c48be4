// transfer/relay

#include <algorithm>
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

constexpr About kAboutTransferRelay{
    .question = "What does a copy between host and GPU gain over the links of the GPU's neighbours?",
    .measures =
        "A part of the bytes goes to another GPU over that GPU's own link and from there on over what joins "
        "the two, and the same the other way. Copy engines pass it on chunk by chunk through buffers in the "
        "other GPU's memory; a kernel of the other GPU copies straight from one end to the other. Beside it, "
        "a few runs each: the same copy over its own link alone (`alone_gb_s`), and as many bytes over all "
        "links at once, each to its own GPU (`at_once_gb_s`), which is the most that relays could reach. "
        "Links that share a switch show there: together they are no faster than one. `share`: found by "
        "making the part of the neighbours larger or smaller until it takes as long as the rest",
    .timed =
        "all parts, between two events of the GPU at the end, behind a closed gate. The neighbours begin "
        "when the gate opens, and the second event waits for the last of them",
    .formula =
        "bandwidth = bytes / median time; of_alone = that over the copy on its own link; of_at_once = that "
        "over as many bytes on all links at once, each to its own GPU",
    .source = "no public suite measures this",
    .limits = "one copy at a time; the neighbours do nothing else",
};

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;

const char* const kFamily = "transfer/relay";
const char* const kToGpu = "pinned_to_gpu";
const char* const kToHost = "gpu_to_pinned";
const char* const kFound = "found";
const char* const kUsual = "usual";
constexpr std::uint64_t kMostLookedAt = 256 * kMiB;

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
    Transfer looked_at = transfer;
    looked_at.bytes = std::min(transfer.bytes, kMostLookedAt);
    transfer.relay.share = find_share(relays_of(transfer).size(), looked_at.bytes, [&](int share) {
      looked_at.relay.share = share;
      return transfer::make_mover(looked_at, session.surroundings());
    });
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
      .timed =
          engine == Engine::sm
              ? "kernels on the GPU and on its neighbours, from the gate until the last is done, between two "
                "events of the GPU"
              : "copies over the GPU's link and, chunk by chunk, over its neighbours' and from there on, "
                "from "
                "the gate until the last is done, between two events of the GPU"};
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
    transfer.relay.gpus = neighbours_of(machine_, pair, values.number("neighbours"));
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
    skip_without_neighbours(benchmark, machine_, transfer);
    benchmark.run = [transfer, found](Session& session) { return measure_relay(session, transfer, found); };
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_relay() {
  return {kFamily,
          kAboutTransferRelay,
          {word_axis("method", "what moves the bytes", {"copy_engine", "kernel_copy"}, "copy_engine"),
           word_axis("path", "which way the bytes go", {kToGpu, kToHost}),
           number_axis("neighbours", "GPUs that pass bytes on", {1, 15}, "1"),
           number_axis("share", "percent of the bytes that they pass on; found: as much as keeps all busy",
                       {1, 99}, kFound, {kFound}),
           size_axis("chunk", "bytes that are passed on at once; usual: by the copy's size, of copy_engine",
                     {4096, kGiB}, false, kUsual, {kUsual}),
           number_axis("buffers", "chunks that a neighbour holds, of copy_engine", {1, 64}, "4"),
           size_axis("bytes", "bytes copied", {4, 1024 * kGiB}), gpu_axis(), node_axis(), pairs_axis(),
           orders_axis()},
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return Lister(machine, grids).list();
          }};
}

}  // namespace grainscope::harness
