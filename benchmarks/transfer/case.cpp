#include "case.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "grainscope/core/error.hpp"
#include "harness/link_peaks.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

bool is_managed(const transfer::Transfer& transfer) {
  return transfer.source.placement == transfer::Placement::managed ||
         (transfer.engine == transfer::Engine::sm &&
          transfer.allocation == transfer::Allocation::accessed_by);
}

std::string text(const transfer::Endpoint& end) {
  return (end.on_host() ? "host:" : "gpu:") + std::to_string(end.id);
}

// Whether the path has a measured peak: a copy within a card, or one that the host stages, has none, and one
// over several links is of none of them.
bool has_peak(const transfer::Transfer& transfer) {
  return !transfer.relay.used() && !transfer.within_gpu() &&
         (!transfer.between_gpus() || transfer.peer_access);
}

}  // namespace

std::optional<PhysicalLimit> limit_of(const Machine& machine, const transfer::Transfer& transfer) {
  if (transfer.within_gpu() && transfer.walks()) {
    return gpu_memory_limit(machine, transfer.gpu(), transfer.bytes);
  }
  if (transfer.within_gpu()) {
    return local_copy_limit(machine, transfer.gpu(), transfer.bytes);
  }
  if (transfer.between_gpus() && transfer.peer_access) {
    return peer_link_limit(machine, transfer.source.id, transfer.destination.id);
  }
  std::optional<PhysicalLimit> limit = host_link_limit(machine, transfer.gpu());
  for (const int relay : transfer::relays_of(transfer)) {
    const std::optional<PhysicalLimit> other = host_link_limit(machine, relay);
    if (!limit || !other) {
      return std::nullopt;
    }
    limit->gb_s += other->gb_s;
    limit->source += ", with that of GPU " + std::to_string(relay);
  }
  return limit;
}

namespace {

// Empty for a transfer that can be.
std::string why_impossible(const transfer::Transfer& transfer) {
  try {
    transfer::require_possible(transfer);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

// The memory that the buffers of a transfer take.
Needs needs_of(const transfer::Transfer& transfer) {
  Needs needs;
  if (is_managed(transfer)) {
    needs.managed_bytes = transfer.memory_bytes();
    needs.host_bytes = transfer.between_gpus() ? 0 : transfer.memory_bytes();
    return needs;
  }
  for (const transfer::Endpoint& end : {transfer.source, transfer.destination}) {
    if (end.placement != transfer::Placement::registers) {
      (end.on_host() ? needs.host_bytes : needs.device_bytes) += transfer.bytes;
    }
  }
  return needs;
}

}  // namespace

Benchmark transfer_benchmark(const std::string& family, std::vector<Axis> axes,
                             const transfer::Transfer& transfer, const GpuTarget& gpu,
                             const Explanation& explanation) {
  const int node = transfer.host_end().id;
  axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
  axes.push_back({"bytes", static_cast<std::int64_t>(transfer.bytes)});
  Benchmark benchmark;
  benchmark.id = {family, std::move(axes), {{"numa", node}, {"gpu", gpu.ordinal}}};
  benchmark.skip = gpu.unavailable;
  benchmark.explanation = explanation;
  carry_out(benchmark, transfer);
  return benchmark;
}

namespace {

void note_gpus(Benchmark& benchmark, const transfer::Transfer& transfer) {
  for (const transfer::Endpoint& end : {transfer.source, transfer.destination}) {
    if (!end.on_host()) {
      benchmark.other_gpus.push_back(end.id);
    }
  }
  const std::vector<int> relays = relays_of(transfer);
  benchmark.other_gpus.insert(benchmark.other_gpus.end(), relays.begin(), relays.end());
}

}  // namespace

void carry_out(Benchmark& benchmark, const transfer::Transfer& transfer) {
  note_gpus(benchmark, transfer);
  benchmark.impossible = why_impossible(transfer);
  benchmark.needs = needs_of(transfer);
  benchmark.run = [transfer](Session& session) { return measure_transfer(session, transfer); };
}

transfer::Placement placement_of(cuda::MemoryKind memory) {
  switch (memory) {
    case cuda::MemoryKind::host_alloc:
      return transfer::Placement::pinned;
    case cuda::MemoryKind::registered:
      return transfer::Placement::registered;
    case cuda::MemoryKind::managed_host:
      return transfer::Placement::managed_host;
    default:
      throw UsageError("what a transfer moves lies in memory host_alloc, registered or managed_host");
  }
}

void set_memory(transfer::Transfer& transfer, cuda::MemoryKind memory) {
  using transfer::Allocation;
  using transfer::Placement;
  const Placement placement = placement_of(memory);
  Placement& held = (transfer.to_gpu() ? transfer.source : transfer.destination).placement;
  if (memory == cuda::MemoryKind::host_alloc) {
    return;
  }
  if (held == Placement::mapped) {  // which a kernel walks
    transfer.allocation =
        memory == cuda::MemoryKind::registered ? Allocation::registered : Allocation::managed_host;
  } else if (held == Placement::pinned) {
    held = placement;
  } else {
    throw UsageError(std::string("what lies in ") + name(held) + " memory has no other kind: memory is " +
                     cuda::name(cuda::MemoryKind::host_alloc));
  }
}

std::uint64_t neighbours_of(const Machine& machine, const GpuPair& pair, std::uint64_t count) {
  const auto there = std::max<std::uint64_t>(machine.runtime.devices.size(), count + 1);
  std::uint64_t gpus = 0;
  for (std::uint64_t next = 0; static_cast<std::uint64_t>(std::popcount(gpus)) < count; ++next) {
    const auto gpu = (static_cast<std::uint64_t>(pair.peer) + next) % there;
    if (gpu != static_cast<std::uint64_t>(pair.gpu.ordinal)) {
      gpus |= std::uint64_t{1} << gpu;
    }
  }
  return gpus;
}

void skip_without_neighbours(Benchmark& benchmark, const Machine& machine,
                             const transfer::Transfer& transfer) {
  const std::size_t neighbours = transfer::relays_of(transfer).size();
  if (const std::size_t there = machine.runtime.devices.size(); there <= neighbours) {
    benchmark.skip_for("needs " + std::to_string(neighbours + 1) + " GPUs; this machine has " +
                       std::to_string(there));
  } else {
    skip_without_relays(benchmark, machine, transfer);
  }
}

void skip_without_relays(Benchmark& benchmark, const Machine& machine, const transfer::Transfer& transfer) {
  if (machine.runtime.devices.empty()) {
    return;  // that is why the transfer is skipped
  }
  for (const int relay : transfer::relays_of(transfer)) {
    benchmark.skip_for(gpu_targets(machine, {relay}).front().unavailable);
    benchmark.skip_for(why_no_peer_access(machine, relay, transfer.gpu()));
    benchmark.skip_for(why_no_peer_access(machine, transfer.gpu(), relay));
  }
}

std::vector<DeclaredAxis> load_axes() {
  using transfer::Load;
  return {
      word_axis("load", "by what a kernel loads: an access of each thread, or bulk copies (TMA) of chunks",
                {name(Load::vector), name(Load::bulk)}, name(Load::vector)),
      size_axis("chunk", "bytes of a bulk copy, of load=bulk", {128, transfer::kMostChunkBytes}, false,
                "6KiB"),
      number_axis("stages", "chunks that a block has under way, of load=bulk", {1, transfer::kMostStages},
                  std::to_string(transfer::kUsualStages))};
}

std::string set_load(transfer::Walk& walk, const Values& values, bool copies) {
  walk.load = values.is("load", name(transfer::Load::bulk)) ? transfer::Load::bulk : transfer::Load::vector;
  walk.chunk_bytes = values.number("chunk");
  walk.stages = values.number_as<int>("stages");
  const bool usual = walk.chunk_bytes == transfer::kUsualChunkBytes && walk.stages == transfer::kUsualStages;
  if (walk.load == transfer::Load::vector && !usual) {
    return "chunk and stages are of bulk copies: load is bulk";
  }
  if (walk.load == transfer::Load::bulk && !copies) {
    return "only a kernel that copies does so in bulk: method is kernel_copy";
  }
  return {};
}

std::vector<Axis> axes_of_load(const transfer::Walk& walk) {
  std::vector<Axis> axes;
  if (walk.load == transfer::Load::bulk) {
    axes.push_back({"load", name(walk.load), AxisStyle::bare});
    axes.push_back({"chunk", static_cast<std::int64_t>(walk.chunk_bytes)});
    axes.push_back({"stages", std::int64_t{walk.stages}});
  }
  if (walk.blocks > 0) {
    axes.push_back({"blocks", std::int64_t{walk.blocks}});
  }
  return axes;
}

Measurement measure_transfer(Session& session, const transfer::Transfer& transfer) {
  return measure_mover(
      session, [&] { return transfer::make_mover(transfer, session.surroundings()); }, transfer);
}

Measurement measure_mover(Session& session, const MakeOperation& make, const transfer::Transfer& transfer) {
  if (transfer.submission_only) {
    Measurement measurement = measure(session, make, {.gpu = transfer.gpu(), .limit = call_limit()});
    measurement.operations = 1;
    return measurement;
  }
  if (transfer.discards()) {
    Measurement measurement = measure(session, make, {.gpu = transfer.gpu(), .limit = call_limit()});
    measurement.operations = transfer.pieces();  // what they hold need not cross the link
    return measurement;
  }
  MeasureOptions options{.gpu = transfer.gpu(), .limit = limit_of(session.machine(), transfer)};
  if (has_peak(transfer)) {
    options.link = LinkPath::of(transfer);
  }
  Measurement measurement = measure(session, make, options);
  measurement.bytes = transfer.bytes;
  if (transfer.within_gpu() && transfer.walks()) {
    measurement.traffic.reset();  // none of it is over a link
  }
  return measurement;
}

double median_s(transfer::Mover& mover, std::optional<std::size_t> lane) {
  constexpr int kRuns = 9;
  std::vector<double> seconds;
  for (int i = 0; i <= kRuns; ++i) {
    mover.prepare();
    const double run_s = lane ? mover.run_alone(*lane) : mover.run();
    if (i > 0) {
      seconds.push_back(run_s);
    }
  }
  return summarize(seconds).median;
}

int find_share(std::size_t neighbours, std::uint64_t bytes,
               const std::function<std::unique_ptr<transfer::Mover>(int)>& make) {
  constexpr int kLooks = 4;
  int share = static_cast<int>(100 * neighbours / (neighbours + 1));
  int best = share;
  double best_s = std::numeric_limits<double>::infinity();
  std::vector<int> looked_at;
  for (int look = 0; look < kLooks; ++look) {
    looked_at.push_back(share);
    const auto mover = make(share);
    const double seconds = median_s(*mover);
    static_cast<void>(mover->verify());
    if (seconds < best_s) {
      std::tie(best_s, best) = std::pair(seconds, share);
    }
    Measurement parts;
    mover->describe(parts);
    const double relayed = parts.counters.at("relayed_bytes");
    const double relay_rate = relayed / parts.counters.at("relays_s");
    const double direct_rate = (static_cast<double>(bytes) - relayed) / parts.counters.at("direct_s");
    share = std::clamp(static_cast<int>(std::lround(100 * relay_rate / (relay_rate + direct_rate))), 1, 99);
    if (std::find(looked_at.begin(), looked_at.end(), share) != looked_at.end()) {
      break;
    }
  }
  return best;
}

namespace {

// The limits and the peaks of all measured lanes, added up; absent where one of them is.
void add_bounds(Session& session, const std::vector<PlannedLane>& lanes, Measurement& measurement) {
  PhysicalLimit limit{0, ""};
  double peak_gb_s = 0;
  bool limited = true;
  bool peaked = true;
  std::vector<PairCarries> pairs;
  double pairs_gb_s = 0;
  std::map<std::string, int> sources;  // of limits: how many lanes have it
  std::vector<LinkPath> paths;
  for (const PlannedLane& planned : lanes) {
    if (planned.background || !planned.transfer) {
      continue;
    }
    const transfer::Transfer& transfer = *planned.transfer;
    const LinkPath path = LinkPath::of(transfer);
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) {
      continue;  // two lanes of one path share its link
    }
    // A GPU has one link to the host, whichever node is behind it, and no peak is known of two nodes.
    const bool shared = std::any_of(paths.begin(), paths.end(), [&](const LinkPath& other) {
      return !path.peer && !other.peer && other.gpu == path.gpu && other.to_gpu == path.to_gpu;
    });
    paths.push_back(path);
    peaked = peaked && !shared;
    if (shared) {
      continue;
    }
    const auto own = limit_of(session.machine(), transfer);
    limited = limited && own.has_value();
    peaked = peaked && has_peak(transfer);
    const Carried carried{own ? own->gb_s : 0, peaked ? session.link_peak_gb_s(path) : 0};
    if (path.peer) {
      pairs.push_back({path, carried});
      pairs_gb_s += carried.limit_gb_s;
    } else {
      limit.gb_s += carried.limit_gb_s;
      peak_gb_s += carried.peak_gb_s;
    }
    if (own) {
      ++sources[own->source];
    }
  }
  const Carried between = carried_between_gpus(session.machine(), pairs);
  limit.gb_s += between.limit_gb_s;
  peak_gb_s += between.peak_gb_s;
  for (const auto& [source, times] : sources) {
    limit.source += (limit.source.empty() ? "" : " + ") +
                    (times > 1 ? std::to_string(times) + " times " : std::string()) + source;
  }
  if (between.limit_gb_s < pairs_gb_s) {
    limit.source += ", between GPUs no more than all links of each carry";
  }
  if (limited && limit.gb_s > 0) {
    measurement.limit = limit;
  }
  if (peaked && peak_gb_s > 0) {
    measurement.link_peak_gb_s = peak_gb_s;
  }
}

transfer::MoverLane make_mover_lane(const PlannedLane& planned, const transfer::Surroundings& surroundings) {
  return {planned.transfer ? transfer::make_lane(*planned.transfer, surroundings)
                           : transfer::make_computing_lane(planned.computing->gpu, planned.computing->node,
                                                           planned.computing->seconds, surroundings,
                                                           planned.computing->beside_bulk),
          planned.background, planned.repeats};
}

std::vector<LaneResult> describe_lanes(const std::vector<PlannedLane>& lanes) {
  std::vector<LaneResult> results;
  for (const PlannedLane& planned : lanes) {
    LaneResult result;
    result.name = planned.name;
    result.background = planned.background;
    if (planned.transfer) {
      result.from = text(planned.transfer->source);
      result.to = text(planned.transfer->destination);
      result.bytes = planned.transfer->bytes * static_cast<std::uint64_t>(planned.repeats);
    } else {
      result.from = result.to = "gpu:" + std::to_string(planned.computing->gpu);
    }
    results.push_back(std::move(result));
  }
  return results;
}

// Kernels of one GPU that would each fill it run one after the other, whatever their events say: each of them
// leaves room for the others.
std::vector<PlannedLane> beside_each_other(std::vector<PlannedLane> lanes) {
  const auto kernel_on = [](const PlannedLane& lane) {
    if (!lane.transfer) {
      return lane.computing->gpu;
    }
    return lane.transfer->engine == transfer::Engine::sm ? lane.transfer->gpu() : -1;
  };
  for (PlannedLane& lane : lanes) {
    const int gpu = kernel_on(lane);
    if (lane.transfer && gpu >= 0) {
      lane.transfer->walk.kernels = static_cast<int>(std::count_if(
          lanes.begin(), lanes.end(), [&](const PlannedLane& other) { return kernel_on(other) == gpu; }));
    }
  }
  return lanes;
}

// What background lanes kept of their own rate while the measured ones ran, the least of them: they ran
// longer than alone by what they lost. Only from medians, so it may be a little beyond 0 or 1.
std::optional<double> kept_by_partners(const Measurement& measurement) {
  double copies_s = 0;
  for (const LaneResult& lane : measurement.lanes) {
    copies_s = lane.background ? copies_s : std::max(copies_s, summarize(lane.seconds).median);
  }
  std::optional<double> kept;
  for (const LaneResult& lane : measurement.lanes) {
    if (lane.background && lane.alone_s && copies_s > 0) {
      const double own = 1 - (summarize(lane.seconds).median - *lane.alone_s) / copies_s;
      kept = std::min(kept.value_or(own), own);
    }
  }
  return kept;
}

namespace {

int gpu_of(const PlannedLane& lane) {
  return lane.computing ? lane.computing->gpu : lane.transfer->gpu();
}

}  // namespace

Measurement measure_together(Session& session, const std::vector<PlannedLane>& lanes) {
  std::vector<transfer::MoverLane> mover_lanes;
  mover_lanes.reserve(lanes.size());
  for (const PlannedLane& planned : lanes) {
    mover_lanes.push_back(make_mover_lane(planned, session.surroundings()));
  }
  transfer::Mover mover(std::move(mover_lanes), session.surroundings());
  std::vector<double> alone_s(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    alone_s[i] = median_s(mover, i);
  }

  std::vector<std::vector<transfer::Span>> runs;
  const auto run_noted = [&] {
    const double seconds = mover.run();
    runs.push_back(mover.spans());
    return seconds;
  };
  const auto verify = [&] {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      // Before the samples or after them: what else runs makes either longer.
      alone_s[i] = std::min(alone_s[i], median_s(mover, i));
    }
    static_cast<void>(sample(mover));  // once more together: what is checked is the end of every lane
    return mover.verify();
  };
  LocalOperation together({[&] { mover.prepare(); }, run_noted, verify, mover.timing()});
  Measurement measurement = measure(session, together, {.gpu = gpu_of(lanes.front())});
  const std::vector<double>& seconds = measurement.samples.seconds;
  measurement.samples.keep_sampled(runs);
  measurement.lanes = describe_lanes(lanes);
  std::vector<double> overlaps;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      measurement.lanes[i].seconds.push_back(runs[run][i].length_s());
    }
    overlaps.push_back(transfer::time_all_ran(runs[run]) / seconds[run]);
  }
  measurement.overlap = std::min(1.0, summarize(overlaps).median);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    measurement.lanes[i].alone_s = alone_s[i];
  }
  if (const std::optional<double> kept = kept_by_partners(measurement)) {
    measurement.counters["partner_kept"] = *kept;
  }
  for (const LaneResult& lane : measurement.lanes) {
    measurement.bytes += lane.background ? 0 : lane.bytes;
  }
  add_bounds(session, lanes, measurement);
  return measurement;
}

}  // namespace

void carry_out_together(Benchmark& benchmark, const std::vector<PlannedLane>& lanes) {
  for (const PlannedLane& lane : lanes) {
    if (lane.transfer && benchmark.impossible.empty()) {
      benchmark.impossible = why_impossible(*lane.transfer);
    }
    if (lane.transfer) {
      note_gpus(benchmark, *lane.transfer);
    }
    const Needs needs = lane.transfer ? needs_of(*lane.transfer) : Needs{};
    benchmark.needs.host_bytes += needs.host_bytes;
    benchmark.needs.device_bytes += needs.device_bytes;
    benchmark.needs.managed_bytes += needs.managed_bytes;
  }
  benchmark.run = [planned = beside_each_other(lanes)](Session& session) {
    return measure_together(session, planned);
  };
}

}  // namespace grainscope::harness
