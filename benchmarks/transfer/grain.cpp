// The families of grain: grain/pieces, grain/gpu_memory and grain/saturation. Requests in flight follow from
// Little's law: rate × latency / request, the request of a kernel being a piece, at most 128 bytes, and its
// latency that of a pointer chase in the same run.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "case.hpp"
#include "families.hpp"
#include "grain.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/core/statistics.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/topology.hpp"
#include "shape/shape.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {

// Each measured once a run, when it is first asked for.
class LoadLatencies {
 public:
  // To a kernel's row: counters `latency_s` and `requests_in_flight`. `chase`: loads from where it read,
  // always in the same order. Throws as the chase does.
  void add_in_flight(const cuda::Surroundings& surroundings, const cuda::ChaseSpec& chase,
                     std::uint64_t bytes, std::uint64_t grain, Measurement& measurement);

 private:
  double seconds(const cuda::Surroundings& surroundings, const cuda::ChaseSpec& chase);
  // By memory, GPU, node, peer, bytes and how the host's memory came to be.
  std::map<std::tuple<cuda::ChaseSpec::To, int, int, int, std::uint64_t, cuda::MemoryKind>, double> known_;
};

namespace {

constexpr std::uint64_t kRequestBytes = 128;  // the largest of a kernel
constexpr int kChases = 9;

}  // namespace

double LoadLatencies::seconds(const cuda::Surroundings& surroundings, const cuda::ChaseSpec& chase) {
  const std::tuple key{chase.to, chase.gpu, chase.node, chase.peer, chase.bytes, chase.memory};
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  const auto probe = cuda::make_chase(chase, surroundings);
  Measurement chased;
  probe->describe(chased);
  std::vector<double> seconds;
  seconds.reserve(kChases);
  for (int i = 0; i < kChases; ++i) {
    seconds.push_back(sample(*probe) / static_cast<double>(chased.operations));
  }
  static_cast<void>(probe->verify());
  return known_.emplace(key, summarize(seconds).median).first->second;
}

void LoadLatencies::add_in_flight(const cuda::Surroundings& surroundings, const cuda::ChaseSpec& chase,
                                  std::uint64_t bytes, std::uint64_t grain, Measurement& measurement) {
  const double latency_s = seconds(surroundings, chase);
  const auto request = static_cast<double>(std::min(grain, kRequestBytes));
  const double rate = static_cast<double>(bytes) / measurement.samples.summary.median;
  measurement.counters["latency_s"] = latency_s;
  measurement.counters["requests_in_flight"] = rate * latency_s / request;
}

namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::PageCall;
using transfer::PageMethod;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

constexpr std::uint64_t kSmallestPrefetch = 4 * kKiB;
constexpr std::uint64_t kBytes = 64 * kMiB;  // moved by a kernel in all
constexpr std::uint64_t kMostCopies = 256;   // that a stream takes behind a closed gate
constexpr std::uint64_t kMostPrefetches = 64;
constexpr int kLoadBytes = 16;
// What the driver keeps together: a piece in a block of its own is not brought along by another.
constexpr std::uint64_t kBlockBytes = 2 * kMiB;
constexpr std::uint64_t kDemandSpan = 64 * kMiB;

// Pieces of a size that makes up to `pieces` of them, and no more than `most` bytes unless one piece is more.
std::uint64_t total(std::uint64_t grain, std::uint64_t pieces, std::uint64_t most) {
  return std::max(grain, std::min(most, grain * pieces));
}

}  // namespace

const std::vector<GrainMethod>& grain_methods() {
  static const std::vector<GrainMethod> all{
      {"copy_engine", Engine::copy_engine, true, {}},
      {"copy_engine", Engine::copy_engine, false, {}},
      {"pageable_copy", Engine::copy_engine, true, {}, true},
      {"pageable_copy", Engine::copy_engine, false, {}, true},
      {"batch", Engine::copy_engine, true, PageMethod::batch},
      {"batch", Engine::copy_engine, false, PageMethod::batch},
      {"graph", Engine::copy_engine, true, PageMethod::graph},
      {"graph", Engine::copy_engine, false, PageMethod::graph},
      {"zero_copy_random", Engine::sm, true, {}},
      {"kernel_write_random", Engine::sm, false, {}},
      {"managed_prefetch", Engine::prefetch, true, {}},
      {"managed_prefetch", Engine::prefetch, false, {}},
      {"managed_prefetch_batch", Engine::prefetch, true, {}, false, PageCall::prefetch_batch},
      {"managed_prefetch_batch", Engine::prefetch, false, {}, false, PageCall::prefetch_batch},
      {"managed_demand", Engine::fault, true, {}},
  };
  return all;
}

std::string why_no_grain(const GrainMethod& method, std::uint64_t grain) {
  if (!std::has_single_bit(grain)) {
    return "a piece is a power of two of bytes, not " + std::to_string(grain);
  }
  if (method.engine == Engine::prefetch && grain < kSmallestPrefetch) {
    return "a prefetch moves pages: a piece of it is " + format_bytes(kSmallestPrefetch) + " or more";
  }
  return {};
}

Transfer grain_transfer(const GrainMethod& method, int node, int gpu, std::uint64_t grain) {
  Transfer transfer;
  transfer.engine = method.engine;
  transfer.source = Endpoint::host(Placement::pinned, node);
  transfer.destination = Endpoint::gpu(Placement::device, gpu);
  transfer.piece_bytes = grain;
  switch (method.engine) {
    case Engine::sm:
      transfer.source.placement = Placement::mapped;
      transfer.destination.placement = Placement::registers;
      transfer.bytes = std::max(kBytes, grain);
      transfer.piece_bytes = 0;
      transfer.walk.pattern = Walk::Pattern::scattered;
      transfer.walk.width_bytes = kLoadBytes;
      transfer.walk.piece_bytes = grain;
      transfer.flush = true;
      break;
    case Engine::prefetch:
      transfer.source.placement = transfer.destination.placement = Placement::managed;
      transfer.bytes = total(grain, kMostPrefetches, kBytes);
      transfer.page_call = method.page_call;
      break;
    case Engine::fault:
      transfer.source.placement = transfer.destination.placement = Placement::managed;
      transfer.stride_bytes = std::max(grain, kBlockBytes);
      transfer.bytes = kDemandSpan / transfer.stride_bytes * grain;
      break;
    case Engine::copy_engine:
      transfer.source.placement = method.pageable ? Placement::pageable : Placement::pinned;
      transfer.bytes = total(grain, kMostCopies, kBytes);
      break;
  }
  if (!method.to_gpu) {
    std::swap(transfer.source, transfer.destination);
  }
  return transfer;
}

std::string why_not(const Machine& machine, int gpu, const GrainMethod& method) {
  if (method.batch == PageMethod::batch) {
    return why_no_batch_copy(machine);
  }
  switch (method.engine) {
    case Engine::sm:
      return why_no_mapping(machine, gpu);
    case Engine::prefetch:
    case Engine::fault: {
      const std::string why = why_no_migration(machine, gpu);
      return why.empty() && method.page_call != PageCall::prefetch ? why_no_managed_batch(machine) : why;
    }
    case Engine::copy_engine:
      break;
  }
  return {};
}

namespace {

constexpr About kAboutGrainPieces{
    .question = "How fast do bytes cross the link when they are asked for in pieces of one size?",
    .timed =
        "copies, one a piece, in order, all enqueued behind a closed gate; of pageable memory on the host's "
        "clock, since the driver copies within the calls; the same number of copies submitted at once, as a "
        "batch or as a graph, on the host's clock from the call until the last has arrived; a kernel whose "
        "lanes read or write whole pieces that lie scattered over as many bytes as are moved, between two "
        "events behind a closed gate; prefetches, one a piece or all in one batch, between two events on an "
        "idle stream; a kernel that reads pieces of managed memory, each in 2 MiB of its own that live on "
        "the host, behind a closed gate",
    .formula =
        "bandwidth = pieces x grain / median time; requests in flight = rate x latency / request. Of managed "
        "memory read on demand whole pages move, at least: how much is counted after each sample, and is "
        "what crossed the link",
    .source = "EMOGI, section 3.3; Little's law; Hockney's half-bandwidth size",
    .limits = "pieces lie within a span that the GPU's address translation covers; reach/gather goes beyond",
};

}  // namespace

Explanation explain(const GrainMethod& method, cuda::MemoryKind memory) {
  Explanation text;
  text.limits = kAboutGrainPieces.limits;
  if (method.engine == Engine::copy_engine) {
    text.limits += "; host memory is not evicted from the CPU's caches";
  }
  text.formula = "bandwidth = pieces x grain / median time";
  if (method.engine == Engine::copy_engine && !method.batch && memory == cuda::MemoryKind::managed_host) {
    text.timed =
        "one copy a piece, in order, between two events, without a gate: the driver stages each copy "
        "and waits for the stream";
  } else if (method.pageable) {
    text.timed =
        "one copy a piece of pageable memory, in order, from the first call until an event behind the last "
        "copy has completed";
    text.limits +=
        "; timed on the host's clock: the driver copies within the calls, so that none waits at a gate";
  } else if (method.batch) {
    text.timed = std::string(method.batch == PageMethod::batch ? "one cudaMemcpyBatchAsync"
                                                               : "one launch of a graph of copies") +
                 " of pieces that lie scattered at both ends, from the call until an event behind the last "
                 "copy has completed; what is made beforehand is not timed";
    text.limits += "; timed on the host's clock, unlike copies one by one";
  } else if (method.engine == Engine::sm) {
    text.timed = "one kernel over scattered pieces, behind a closed gate, between two events";
    text.formula += "; of reads requests in flight = rate x latency / request";
  } else if (method.engine == Engine::prefetch) {
    text.timed = method.page_call == PageCall::prefetch_batch
                     ? "one cudaMemPrefetchBatchAsync of all pieces, between two events on an idle stream"
                     : "one prefetch a piece, in order, between two events on an idle stream";
  } else if (method.engine == Engine::fault) {
    text.timed =
        "one kernel that reads every word of each piece, behind a closed gate, between two events; each "
        "piece lies in 2 MiB of its own, which live on the host before";
    text.formula +=
        ": the useful bytes; the pages that moved are counted after each sample, in "
        "link_bytes_least and counters.moved_bytes; driver_to_gpu_bytes is the driver's own count of one "
        "more sample";
    text.limits += "; pieces begin at a block's beginning, 32 at most are asked for at once";
  }
  if (text.timed.empty()) {
    text.timed = "one copy a piece, in order, all behind a closed gate, between two events";
  }
  return text;
}

namespace {

// grain/pieces

using transfer::PageCopy;

constexpr std::uint64_t kChaseBytes = 2 * kMiB;

const char* const kPiecesFamily = "grain/pieces";

Measurement measure_pieces(Session& session, const Transfer& transfer, std::uint64_t grain,
                           cuda::MemoryKind memory, LoadLatencies& latencies) {
  Measurement measurement = measure_transfer(session, transfer);
  measurement.operations = transfer.bytes / grain;
  if (transfer.engine == Engine::sm && transfer.to_gpu()) {
    latencies.add_in_flight(session.surroundings(),
                            {.to = cuda::ChaseSpec::To::host_memory,
                             .gpu = transfer.gpu(),
                             .node = transfer.node(),
                             .memory = memory,
                             .bytes = kChaseBytes,
                             .order = Cycle::Order::stride},
                            transfer.bytes, grain, measurement);
  }
  return measurement;
}

Measurement measure_batch(Session& session, const PageCopy& copy, const Transfer& transfer) {
  Measurement measurement = measure_mover(
      session, [&] { return transfer::make_page_mover(copy, session.surroundings()); }, transfer);
  measurement.operations = copy.pages.count;
  return measurement;
}

// The same pieces as those of `transfer`, but scattered and submitted at once.
void submit_at_once(Benchmark& benchmark, const GrainMethod& method, const Transfer& transfer,
                    const GpuTarget& gpu) {
  const ShapePath path{method.path(), {transfer.source, transfer.destination, transfer.node()}, gpu, "", ""};
  const std::uint64_t pieces = transfer.bytes / transfer.piece_bytes;
  const transfer::PagePool pool = transfer::usual_pool(transfer::PageOrder::drawn, pieces);
  const PageCopy copy{path.route, {transfer.piece_bytes, pieces, pool, pool}, *method.batch};
  benchmark.needs = shape_needs(path, copy.pages.memory_bytes(pool));
  benchmark.run = [=](Session& session) {
    return measure_batch(session, copy, path.as_transfer(copy.pages.bytes()));
  };
}

std::vector<std::string> method_names() {
  std::vector<std::string> names =
      names_of(grain_methods(), [](const GrainMethod& method) { return method.name; });
  names.erase(std::unique(names.begin(), names.end()), names.end());  // both paths of a method stand together
  return names;
}

// The method of a point; null where it does not go that way.
const GrainMethod* method_of(const Values& values) {
  const auto& methods = grain_methods();
  const auto method = std::find_if(methods.begin(), methods.end(), [&](const GrainMethod& each) {
    return values.is("method", each.name) && values.is("path", each.path());
  });
  return method == methods.end() ? nullptr : &*method;
}

std::vector<Benchmark> list_pieces(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const auto latencies = std::make_shared<LoadLatencies>();
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      const GrainMethod* const method = method_of(values);
      const std::uint64_t grain = values.number("grain");
      const std::string why_left_out =
          method == nullptr
              ? values.word("method") + " goes the other way: path is not " + values.word("path")
              : why_no_grain(*method, grain);
      if (!why_left_out.empty()) {
        grids.leave_out(why_left_out);
        continue;
      }
      Transfer transfer = grain_transfer(*method, node, gpu.ordinal, grain);
      const cuda::MemoryKind memory = memory_of(values);
      try {
        set_memory(transfer, memory);
      } catch (const UsageError& error) {
        grids.leave_out(error.what());
        continue;
      }
      std::vector<Axis> axes{{"method", method->name, AxisStyle::bare},
                             {"path", method->path(), AxisStyle::bare},
                             {"grain", values.at("grain")}};
      add_memory(memory, axes);
      Benchmark benchmark =
          transfer_benchmark(kPiecesFamily, std::move(axes), transfer, gpu, explain(*method, memory));
      benchmark.skip_for(why_not(machine, gpu.ordinal, *method));
      if (memory != cuda::MemoryKind::host_alloc) {
        benchmark.skip_for(why_no_memory(machine, memory, gpu.ordinal, transfer.bytes));
      }
      benchmark.run = [=](Session& session) {
        return measure_pieces(session, transfer, grain, memory, *latencies);
      };
      if (method->batch) {
        submit_at_once(benchmark, *method, transfer, gpu);
      }
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family grain_pieces() {
  return {kPiecesFamily,
          kAboutGrainPieces,
          {word_axis("method", "how the pieces are asked for", method_names()),
           word_axis("path", "which way they go", {"host_to_gpu", "gpu_to_host"}),
           size_axis("grain", "bytes of a piece: a power of two", {4, kLargestGrain}, false),
           memory_axis("how the host memory came to be in which pieces lie"),
           following_axis("bytes", "of all pieces", AxisUnit::bytes), gpu_axis(), node_axis()},
          list_pieces,
          false,
          2};  // pieces of a batch and of a graph lie drawn, as pages do
}

namespace {

// grain/gpu_memory

constexpr About kAboutGrainGpuMemory{
    .question = "How fast does a kernel read or write pieces of one size in a peer's memory, or its own?",
    .timed =
        "one kernel whose lanes read or write whole pieces, down to a word, that lie scattered over as many "
        "bytes as are moved, between two events behind a closed gate",
    .formula =
        "bandwidth = pieces x grain / median time, each piece once; of reads requests in flight = rate x "
        "latency / request, the latency of a chase over as many bytes",
    .source =
        "Comm|Scope's Comm_chunk_* and Comm_stride_* (c3sr/comm_scope, src/chunk, src/stride), whose pieces "
        "lie at equal distances; EMOGI, section 3.3, for the host's memory, which is grain/pieces",
    .limits =
        "pieces lie within a span that the GPU's address translation covers. Of the GPU's own memory its "
        "cache may hold a part, and then no physical limit is known",
};

constexpr std::uint64_t kWidestAccess = 16;
const char* const kOwn = "own";
const char* const kPeer = "peer";

const char* const kGpuMemoryFamily = "grain/gpu_memory";

// A GPU, and whose memory it reads or writes: a peer's, or its own.
struct Place {
  GpuTarget gpu;
  int memory_of = 0;
  std::string link;  // what joins the two; empty within a card
  std::string skip;
  int node = 0;  // whose CPUs submit it

  [[nodiscard]] bool is_own() const { return link.empty(); }
};

Transfer make_walk(const Place& place, const Values& values) {
  const std::uint64_t grain = values.number("grain");
  Transfer walk;
  walk.engine = Engine::sm;
  walk.source = Endpoint::gpu(Placement::device, place.memory_of);
  walk.destination = Endpoint::gpu(Placement::registers, place.gpu.ordinal);
  walk.by_source = values.is("direction", "write");
  if (walk.by_source) {
    std::swap(walk.source, walk.destination);
  }
  walk.bytes = values.number("bytes");
  walk.walk.pattern = Walk::Pattern::scattered;
  walk.walk.width_bytes = static_cast<int>(std::min(grain, kWidestAccess));
  walk.walk.piece_bytes = grain;
  walk.staging_node = place.node;
  return walk;
}

Measurement measure_gpu_memory(Session& session, const Place& place, const Transfer& walk,
                               std::uint64_t grain, LoadLatencies& latencies) {
  Measurement measurement = measure_transfer(session, walk);
  measurement.operations = walk.bytes / grain;
  if (!walk.by_source) {
    latencies.add_in_flight(
        session.surroundings(),
        {.to = place.is_own() ? cuda::ChaseSpec::To::own_memory : cuda::ChaseSpec::To::peer_memory,
         .gpu = place.gpu.ordinal,
         .peer = place.memory_of,
         .bytes = std::bit_floor(walk.bytes)},
        walk.bytes, grain, measurement);
  }
  return measurement;
}

Benchmark make_benchmark(const Place& place, const Transfer& walk,
                         const std::shared_ptr<LoadLatencies>& latencies) {
  const std::uint64_t grain = walk.walk.piece_bytes;
  Benchmark benchmark;
  benchmark.id = {kGpuMemoryFamily,
                  {{"direction", walk.by_source ? "write" : "read", AxisStyle::bare},
                   {"memory", place.is_own() ? kOwn : kPeer, AxisStyle::bare},
                   {"grain", static_cast<std::int64_t>(grain)},
                   {"bytes", static_cast<std::int64_t>(walk.bytes)}},
                  {{"gpu", place.gpu.ordinal}}};
  if (!place.is_own()) {
    benchmark.id.axes.push_back({"link", place.link, AxisStyle::hidden});
    benchmark.id.site.push_back({"peer", place.memory_of});
  }
  benchmark.skip = place.skip;
  carry_out(benchmark, walk);
  benchmark.run = [place, walk, grain, latencies](Session& session) {
    return measure_gpu_memory(session, place, walk, grain, *latencies);
  };
  return benchmark;
}

std::vector<Benchmark> list_gpu_memory(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  const auto latencies = std::make_shared<LoadLatencies>();
  const auto add_line = [&](const Grid& grid, const Place& place) {
    for (const Values& values : grid.points()) {
      if (values.is("memory", place.is_own() ? kOwn : kPeer)) {
        benchmarks.push_back(make_benchmark(place, make_walk(place, values), latencies));
      }
    }
  };
  grids.each_gpu([&](const GpuTarget& gpu, const Grid& grid) {
    add_line(grid, {gpu, gpu.ordinal, "", gpu.unavailable, scope.nearest_node(gpu)});
  });
  each_pair(machine, grids, [&](const GpuPair& pair, const Grid& grid) {
    add_line(grid, {pair.gpu, pair.peer, pair.link, pair.why_no_access(), scope.nearest_node(pair.gpu)});
  });
  return benchmarks;
}

}  // namespace

Family grain_gpu_memory() {
  return {kGpuMemoryFamily,
          kAboutGrainGpuMemory,
          {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
           word_axis("memory", "whose memory it is: a peer's, or the GPU's own", {kPeer, kOwn}),
           size_axis("grain", "bytes of a piece: a power of two", {4, kGiB}, false),
           size_axis("bytes", "of all pieces together: a power of two", {128, 1024 * kGiB}), gpu_axis(),
           pairs_axis(), orders_axis()},
          list_gpu_memory};
}

namespace {

// grain/saturation

constexpr About kAboutGrainSaturation{
    .question = "How few multiprocessors does a kernel need to fill the link?",
    .measures =
        "First the rate of a full grid is measured, then that of one block of 1024 threads, two, and so on "
        "until the full grid's rate is reached but for 5 %; the smallest such grid is then sampled like any "
        "other case, and where it stays below, up to four larger ones. Blocks of that size lie on "
        "multiprocessors of their own, which the kernel itself reports. Where `blocks` are given, that grid "
        "is sampled instead. Bulk copies (TMA) have a warp for each stage",
    .timed = "one kernel between two events behind a closed gate",
    .formula =
        "bandwidth = bytes that the kernel asks for / median time; `sms` counts the multiprocessors that had "
        "a block",
    .source = "dissertation, section 3 (SM shares); EMOGI, section 3.3",
    .limits = "nothing else runs; contention tells what a copy and a computation do to each other",
};

constexpr double kThreshold = 0.95;  // of the full grid's rate
constexpr int kMostRaises = 4;       // of a grid that did not reach it again

const char* const kSaturationFamily = "grain/saturation";
const char* const kFewest = "fewest";
constexpr std::uint64_t kWidthOfBulk = 16;  // bulk copies have no width of an access: a line names the widest

// The rate of one grid, at a look.
double look_gb_s(Session& session, const Transfer& transfer) {
  const auto mover = transfer::make_mover(transfer, session.surroundings());
  const double seconds = median_s(*mover);
  static_cast<void>(mover->verify());
  return gb_per_s(static_cast<double>(transfer.bytes), seconds);
}

Measurement measure_saturation(Session& session, Transfer transfer) {
  const int most = session.machine().find_gpu(transfer.gpu())->cuda->sm_count;
  if (transfer.walk.blocks > 0) {
    Measurement measurement = measure_transfer(session, transfer);
    measurement.counters["sms"] = measurement.counters.at("multiprocessors");
    measurement.counters["sms_available"] = most;
    return measurement;
  }
  double full_gb_s = look_gb_s(session, transfer);
  const auto saturates = [&](int blocks) {
    transfer.walk.blocks = blocks;
    return look_gb_s(session, transfer) >= kThreshold * full_gb_s;
  };
  // Doubling finds a grid that does, halving the gap to the one before it finds the smallest.
  int fails = 0;
  int does = 1;
  while (does < most && !saturates(does)) {
    fails = does;
    does = std::min(2 * does, most);
  }
  while (does - fails > 1) {
    const int middle = (fails + does) / 2;
    (saturates(middle) ? does : fails) = middle;
  }
  // A look may have been lucky, the one at the full grid too: where a session stays below the threshold, the
  // full grid is looked at again, and up to four larger ones are sampled.
  const auto rate_of = [&](const Measurement& measurement) {
    return gb_per_s(static_cast<double>(transfer.bytes), measurement.samples.summary.median);
  };
  transfer.walk.blocks = does;
  Measurement measurement = measure_transfer(session, transfer);
  if (rate_of(measurement) < kThreshold * full_gb_s) {
    transfer.walk.blocks = 0;
    full_gb_s = look_gb_s(session, transfer);
  }
  for (int more = 1; more <= kMostRaises && rate_of(measurement) < kThreshold * full_gb_s; ++more) {
    transfer.walk.blocks = std::min(does + more, most);
    measurement = measure_transfer(session, transfer);
  }
  measurement.counters["sms"] = measurement.counters.at("multiprocessors");
  measurement.counters["sms_available"] = most;
  measurement.counters["full_gb_s"] = full_gb_s;
  measurement.counters["threshold"] = kThreshold;
  measurement.counters["saturated_gb_s"] = rate_of(measurement);
  return measurement;
}

std::vector<Benchmark> list_saturation(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  grids.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
    for (const Values& values : grid.points()) {
      Transfer transfer;
      transfer.engine = Engine::sm;
      transfer.source = Endpoint::host(Placement::mapped, node);
      transfer.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
      if (values.is("direction", "write")) {
        std::swap(transfer.source, transfer.destination);
      }
      transfer.bytes = values.number("bytes");
      transfer.flush = true;  // lines in the CPU's caches answer otherwise than memory
      transfer.walk.width_bytes = values.number_as<int>("width");
      transfer.walk.blocks = values.is("blocks", kFewest) ? 0 : values.number_as<int>("blocks");
      const cuda::MemoryKind memory = memory_of(values);
      std::string why = set_load(transfer.walk, values);
      try {
        set_memory(transfer, memory);
      } catch (const UsageError& error) {
        why = error.what();
      }
      const bool bulk = transfer.walk.load == transfer::Load::bulk;
      if (bulk && values.number("width") != kWidthOfBulk) {
        why = "a bulk copy has no width of an access: width is 16";
      }
      if (!why.empty()) {
        grids.leave_out(why);
        continue;
      }
      std::vector<Axis> axes{{"direction", values.at("direction"), AxisStyle::bare}};
      if (!bulk) {
        axes.push_back({"width", values.at("width")});
      }
      const std::vector<Axis> of_load = axes_of_load(transfer.walk);
      axes.insert(axes.end(), of_load.begin(), of_load.end());
      add_memory(memory, axes);
      Benchmark benchmark = transfer_benchmark(kSaturationFamily, std::move(axes), transfer, gpu, {});
      benchmark.skip_for(why_no_memory(machine, memory, gpu.ordinal, transfer.bytes));
      if (bulk) {
        benchmark.skip_for(why_no_bulk(machine, gpu.ordinal));
      }
      benchmark.run = [transfer](Session& session) { return measure_saturation(session, transfer); };
      benchmarks.push_back(std::move(benchmark));
    }
  });
  return benchmarks;
}

}  // namespace

Family grain_saturation() {
  std::vector<DeclaredAxis> axes = load_axes();
  axes.insert(axes.begin(), {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
                             choice_axis("width", "bytes of an access, of load=vector", {4, 8, 16}, "16")});
  axes.push_back(number_axis("blocks", "blocks of the grid; fewest: the fewest that fill the link",
                             {1, 65536}, kFewest, {kFewest}));
  axes.push_back(size_axis("bytes", "bytes that the kernel asks for", {128, 1024 * kGiB}));
  axes.push_back(memory_axis("how the host memory came to be"));
  axes.insert(axes.end(), {gpu_axis(), node_axis()});
  return {kSaturationFamily, kAboutGrainSaturation, std::move(axes), list_saturation};
}

}  // namespace grainscope::harness
