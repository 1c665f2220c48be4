// The families of transfers at once: transfer/duplex and contention. Each part opens with its question.

#include <algorithm>
#include <cmath>
#include <optional>

#include "case.hpp"
#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "transfer/peer_case.hpp"

namespace grainscope::harness {
namespace {

// transfer/duplex

constexpr About kAboutTransferDuplex{
    .question = "What does a link carry when bytes go both ways at once?",
    .timed =
        "where the GPU does all of it, each direction between two events of its own, both behind gates that "
        "open together; pageable copies, prefetches and faults of the host on two host threads that start "
        "together, on the host's clock. A sample is the time during which either direction ran; each "
        "direction's own time is kept beside it. Both destinations held other data before and are checked. "
        "Between GPUs bytes go by `write`, each GPU sends, by `read`, each fetches, or by `read_write`, the "
        "first does both; copies without peer access (`off`) are staged through the host",
    .formula =
        "bandwidth = bytes of both directions / median time; overlap = time both ran / time either ran",
    .source =
        "Comm|Scope, section 3.2 and figure 7. Its duplex peer copy moved gpu1 to gpu1, its duplex prefetch "
        "took the stop event before the second prefetch, and its duplex zero-copy read loaded nothing; "
        "nvbandwidth's bidirectional copies are `contention/opposite_copy`",
    .limits = "the two directions need not end together, and then one ran alone for a while: see `overlap`",
};

using transfer::Endpoint;
using transfer::Engine;
using transfer::Load;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

const char* const kDuplexFamily = "transfer/duplex";

const char* const kHostAndGpu = "host_gpu";
const char* const kGpus = "gpu_gpu";
const char* const kBetweenGpus = "copy_engine";  // where neither end is the host's

enum class Method { pageable, pinned, kernel_copy, zero_copy, demand, prefetch };
constexpr Method kMethods[] = {Method::pageable,  Method::pinned, Method::kernel_copy,
                               Method::zero_copy, Method::demand, Method::prefetch};

// Which end issues a direction: always the one that sends, the one that receives, or the first GPU.
enum class Issuer { source, destination, first };
constexpr Issuer kIssuers[] = {Issuer::source, Issuer::destination, Issuer::first};

const char* direction(Issuer issuer) {
  return issuer == Issuer::source ? "write" : issuer == Issuer::destination ? "read" : "read_write";
}

const char* name(Method method) {
  switch (method) {
    case Method::pageable:
      return "pageable";
    case Method::pinned:
      return "pinned";
    case Method::kernel_copy:
      return "kernel_copy";
    case Method::zero_copy:
      return "zero_copy";
    case Method::demand:
      return "demand";
    case Method::prefetch:
      return "prefetch";
  }
  return "";
}

bool migrates(Method method) {
  return method == Method::demand || method == Method::prefetch;
}

// One direction; `other` is a node of the host, or a peer.
Transfer one_way(Method method, const Endpoint& other, int gpu, bool outward, std::uint64_t bytes,
                 Issuer issuer) {
  Transfer transfer;
  transfer.bytes = bytes;
  Endpoint there = other;
  Endpoint here = Endpoint::gpu(Placement::device, gpu);
  switch (method) {
    case Method::pageable:
      there.placement = Placement::pageable;
      break;
    case Method::pinned:
      there.placement = other.on_host() ? Placement::pinned : Placement::device;
      break;
    case Method::kernel_copy:
      transfer.engine = Engine::sm;
      there.placement = other.on_host() ? Placement::pinned : Placement::device;
      break;
    case Method::zero_copy:
      transfer.engine = Engine::sm;
      transfer.walk.width_bytes = 16;
      there.placement = other.on_host() ? Placement::mapped : Placement::device;
      break;
    case Method::demand:
    case Method::prefetch:
      transfer.engine = method == Method::demand ? Engine::fault : Engine::prefetch;
      there.placement = here.placement = Placement::managed;
      break;
  }
  transfer.source = outward ? here : there;
  transfer.destination = outward ? there : here;
  transfer.by_source = issuer == Issuer::source || (issuer == Issuer::first && outward);
  if (method == Method::zero_copy) {
    (transfer.by_source ? transfer.source : transfer.destination).placement = Placement::registers;
  }
  return transfer;
}

Explanation explain(bool between_gpus) {
  return {.limits =
              between_gpus
                  ? "events of two GPUs have no common clock: that both began together rests on gates which "
                    "open within a microsecond"
                  : "where one direction ends first, the other runs alone for the rest: see overlap"};
}

class DuplexLister {
 public:
  DuplexLister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

  std::vector<Benchmark> list() {
    grids_.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
      for (const Values& values : grid.points()) {
        if (values.is("between", kHostAndGpu)) {
          add_host(gpu, node, values);
        }
      }
    });
    each_pair(machine_, grids_, [&](const GpuPair& pair, const Grid& grid) {
      for (const Values& values : grid.points()) {
        if (values.is("between", kGpus)) {
          add_peer(pair, grid, values);
        }
      }
    });
    return std::move(benchmarks_);
  }

 private:
  void add(Benchmark benchmark, const Transfer& in, const Transfer& out, const char* in_name,
           const char* out_name) {
    benchmark.explanation = explain(in.between_gpus());
    carry_out_together(benchmark, {{in_name, in, {}, false, 1}, {out_name, out, {}, false, 1}});
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_host(const GpuTarget& gpu, int node, const Values& values) {
    if (values.is("method", kBetweenGpus)) {
      grids_.leave_out("between host and GPU the copy engine's methods are pinned and pageable");
      return;
    }
    const Method method = enumerator(values.word("method"), kMethods, [](Method each) { return name(each); });
    Walk walk;
    if (const std::string why = set_load(walk, values, method == Method::kernel_copy); !why.empty()) {
      grids_.leave_out(why);
      return;
    }
    const std::uint64_t bytes = values.number("bytes");
    const Endpoint host = Endpoint::host(Placement::pinned, node);
    Benchmark benchmark;
    benchmark.id = {kDuplexFamily,
                    {{"between", kHostAndGpu, AxisStyle::bare},
                     {"method", name(method), AxisStyle::bare},
                     {"locality", gpu.locality(node), AxisStyle::hidden},
                     {"bytes", static_cast<std::int64_t>(bytes)}},
                    {{"numa", node}, {"gpu", gpu.ordinal}}};
    const std::vector<Axis> of_load = axes_of_load(walk);
    benchmark.id.axes.insert(benchmark.id.axes.end() - 2, of_load.begin(), of_load.end());
    benchmark.skip = gpu.unavailable;
    if (migrates(method)) {
      benchmark.skip_for(why_no_migration(machine_, gpu.ordinal));
    }
    if (method == Method::zero_copy || method == Method::kernel_copy) {
      benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
    }
    if (walk.load == Load::bulk) {
      benchmark.skip_for(why_no_bulk(machine_, gpu.ordinal));
    }
    const Issuer issuer = method == Method::zero_copy ? Issuer::first : Issuer::destination;
    Transfer inward = one_way(method, host, gpu.ordinal, false, bytes, issuer);
    Transfer outward = one_way(method, host, gpu.ordinal, true, bytes, issuer);
    if (method == Method::kernel_copy) {
      inward.walk = outward.walk = walk;
    }
    add(std::move(benchmark), inward, outward, "to_gpu", "to_host");
  }

  void add_peer(const GpuPair& pair, const Grid& grid, const Values& values) {
    const bool copies = values.is("method", kBetweenGpus);
    if (values.is("method", name(Method::pageable)) || values.is("method", name(Method::pinned))) {
      grids_.leave_out("between GPUs the copy engine's method is copy_engine");
      return;
    }
    if (values.is("load", name(Load::bulk))) {
      grids_.leave_out("between GPUs kernels load an access of each thread: load is vector");
      return;
    }
    const Method method =
        copies ? Method::pinned
               : enumerator(values.word("method"), kMethods, [](Method each) { return name(each); });
    const Issuer issuer = enumerator(values.word("direction"), kIssuers, direction);
    if (migrates(method) && issuer != Issuer::destination) {
      grids_.leave_out("managed pages come to the GPU that touches them: direction is read");
    } else if (values.on("access")) {
      add_peer(pair, method, issuer, {}, values.number("bytes"));
    } else if (!copies) {
      grids_.leave_out("without peer access only copies go between GPUs: method is copy_engine");
    } else {
      for (const int node : grids_.nodes(grid, pair.gpu)) {
        add_peer(pair, method, issuer, node, values.number("bytes"));
      }
    }
  }

  // `staging_node`: without peer access the host lies between them, and it matters which node.
  void add_peer(const GpuPair& pair, Method method, Issuer issuer, std::optional<int> staging_node,
                std::uint64_t bytes) {
    const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
    Benchmark benchmark;
    benchmark.id = {kDuplexFamily,
                    {{"between", kGpus, AxisStyle::bare},
                     {"method", method == Method::pinned ? kBetweenGpus : name(method), AxisStyle::bare}},
                    {{"gpu", pair.gpu.ordinal}, {"peer", pair.peer}}};
    auto& axes = benchmark.id.axes;
    if (!migrates(method)) {
      axes.push_back({"direction", direction(issuer), AxisStyle::bare});
      axes.push_back({"access", staging_node ? "off" : "on"});
    }
    axes.push_back({"link", pair.link, AxisStyle::hidden});
    axes.push_back({"bytes", static_cast<std::int64_t>(bytes)});
    Transfer outward = one_way(method, peer, pair.gpu.ordinal, true, bytes, issuer);
    Transfer inward = one_way(method, peer, pair.gpu.ordinal, false, bytes, issuer);
    if (staging_node) {
      axes.push_back({"locality", pair.gpu.locality(*staging_node), AxisStyle::hidden});
      benchmark.id.site.push_back({"numa", *staging_node});
      outward.peer_access = inward.peer_access = false;
      outward.staging_node = inward.staging_node = *staging_node;
    }
    benchmark.skip = migrates(method) || staging_node ? pair.unavailable : pair.why_no_access();
    if (migrates(method)) {
      benchmark.skip_for(why_no_migration(machine_, pair.gpu.ordinal));
    }
    add(std::move(benchmark), outward, inward, "to_peer", "from_peer");
  }

  const Machine& machine_;
  const Grids& grids_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_duplex() {
  std::vector<std::string> methods = names_of(kMethods, [](Method each) { return name(each); });
  methods.emplace_back(kBetweenGpus);
  std::vector<DeclaredAxis> axes{
      word_axis("between", "what the link joins", {kHostAndGpu, kGpus}),
      word_axis("method", "what moves the bytes", std::move(methods)),
      word_axis("direction", "between GPUs: each sends, each fetches, or the first does both",
                names_of(kIssuers, direction), direction(Issuer::destination)),
      switch_axis("access",
                  "between GPUs: whether one addresses the other's memory; else the host is between", "on")};
  const std::vector<DeclaredAxis> of_load = load_axes();
  axes.insert(axes.end(), of_load.begin(), of_load.end());
  axes.push_back(size_axis("bytes", "bytes of each direction", {4, 1024 * kGiB}));
  axes.insert(axes.end(), {gpu_axis(), node_axis(), pairs_axis(), orders_axis()});
  return {kDuplexFamily, kAboutTransferDuplex, std::move(axes),
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return DuplexLister(machine, grids).list();
          }};
}

namespace {

// contention

constexpr About kAboutContention{
    .question = "What is left of a copy between host and GPU when something else runs?",
    .timed =
        "every lane between two events of its own, all behind gates that open together. A background lane is "
        "issued often enough to outlast the measured one. Each lane is also timed alone in the same session",
    .formula =
        "bandwidth = bytes of the measured lanes / median time during which any of them ran; partner_kept = "
        "1 - (time of what runs beside - its time alone) / time of the measured lanes",
    .source =
        "nvbandwidth's bidirectional copies (`opposite_copy`: one direction under a copy the other way)",
    .limits =
        "one GPU against one node; several GPUs are transfer/collective. Kernels of one GPU leave room for "
        "each other, or they would run one after the other; beside device_stream a kernel's copy has as few "
        "blocks as fill the link",
};

constexpr std::uint64_t kStreamedBytes = kGiB;  // of device memory, out of any cache
constexpr double kSlowestLink_gb_s = 20;        // background work is sized to outlast a copy over this
constexpr double kDeviceMemory_gb_s = 4000;     // and at this rate
constexpr int kOppositeCopies = 3;

const char* const kOpposite = "opposite_copy";
const char* const kStreams = "streams";
const char* const kBesideCompute = "beside_compute";
const char* const kBesideStream = "beside_device_stream";
const char* const kTwoEngines = "engine_and_kernel";
constexpr Engine kEngines[] = {Engine::copy_engine, Engine::sm};

// A kernel's copy beside one that streams device memory keeps no more under way than fills the link: what is
// more stands in line, and the other's loads behind it (docs/method.md).
constexpr double kUnderWay_s = 4e-6;       // what is under way, in time on the link
constexpr double kFastestLink_gb_s = 450;  // NVLink-C2C; where the machine does not tell

int blocks_over_link(const Machine& machine, int gpu, const Walk& walk) {
  const auto limit = host_link_limit(machine, gpu);
  const double link_gb_s = std::min(limit ? limit->gb_s : kFastestLink_gb_s, kFastestLink_gb_s);
  const double bytes = link_gb_s * 1e9 * kUnderWay_s;
  const std::uint64_t of_block = walk.load == Load::bulk
                                     ? walk.chunk_bytes * static_cast<std::uint64_t>(walk.stages)
                                     : transfer::kUnderWayOfCopyBlock;
  return static_cast<int>(std::ceil(bytes / static_cast<double>(of_block)));
}

const char* const kContentionFamily = "contention";
const char* const kUsual = "usual";

const char* method_name(Engine engine) {
  return engine == Engine::sm ? "kernel_copy" : "copy_engine";
}

const char* path_name(bool to_gpu) {
  return to_gpu ? "host_to_gpu" : "gpu_to_host";
}

Transfer host_copy(bool to_gpu, Engine engine, int node, int gpu, std::uint64_t bytes,
                   const Walk& walk = {}) {
  Transfer copy;
  copy.walk = walk;
  copy.engine = engine;
  copy.source = Endpoint::host(Placement::pinned, node);
  copy.destination = Endpoint::gpu(Placement::device, gpu);
  if (!to_gpu) {
    std::swap(copy.source, copy.destination);
  }
  copy.bytes = bytes;
  return copy;
}

std::vector<Axis> axes_of_method(Engine engine, const Walk& walk) {
  std::vector<Axis> axes{{"method", method_name(engine), AxisStyle::bare}};
  const std::vector<Axis> of_load = axes_of_load(walk);
  axes.insert(axes.end(), of_load.begin(), of_load.end());
  return axes;
}

class ContentionLister {
 public:
  ContentionLister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

  std::vector<Benchmark> list() {
    grids_.each_gpu_and_node([&](const GpuTarget& gpu, int node, const Grid& grid) {
      streamed_bytes_ = grid.number("streamed");
      for (const Values& values : grid.points()) {
        add_point(gpu, node, values);
      }
    });
    return std::move(benchmarks_);
  }

 private:
  void add_point(const GpuTarget& gpu, int node, const Values& values) {
    const bool to_gpu = values.is("path", path_name(true));
    const std::uint64_t bytes = values.number("bytes");
    const Engine engine = enumerator(values.word("method"), kEngines, method_name);
    const std::string& what = values.word("what");
    const bool by_one = what != kStreams && what != kTwoEngines;  // whose method and load can be chosen
    Walk walk;
    walk.blocks = values.is("blocks", kUsual) ? 0 : values.number_as<int>("blocks");
    std::string why = set_load(walk, values, by_one && engine == Engine::sm);
    if (walk.blocks > 0 && (!by_one || engine != Engine::sm)) {
      why = "blocks are a kernel's: method is kernel_copy";
    }
    if (!why.empty()) {
      grids_.leave_out(why);
      return;
    }
    if (what == kOpposite) {
      add(gpu, node, to_gpu, bytes, kOpposite, axes_of_method(engine, walk),
          {{"copy", host_copy(to_gpu, engine, node, gpu.ordinal, bytes, walk), {}, false, 1},
           {"opposite",
            host_copy(!to_gpu, engine, node, gpu.ordinal, bytes, walk),
            {},
            true,
            kOppositeCopies}});
    } else if (what == kStreams) {
      add_streams(gpu, node, to_gpu, bytes, values.number_as<int>("streams"));
    } else if (what == kTwoEngines) {
      add_two_engines(gpu, node, to_gpu, bytes);
    } else {
      add_beside(gpu, node, to_gpu, bytes, engine, walk, what == kBesideCompute);
    }
  }

  // One amount of bytes, spread over more and more streams.
  void add_streams(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, int streams) {
    std::vector<PlannedLane> lanes;
    lanes.reserve(static_cast<std::size_t>(streams));
    const std::uint64_t share = bytes / static_cast<std::uint64_t>(streams) / 4 * 4;
    for (int i = 0; i < streams; ++i) {
      lanes.push_back({"stream_" + std::to_string(i),
                       host_copy(to_gpu, Engine::copy_engine, node, gpu.ordinal, share),
                       {},
                       false,
                       1});
    }
    add(gpu, node, to_gpu, bytes, kStreams, {{"streams", std::int64_t{streams}}}, lanes);
  }

  // A copy, by either means, while all multiprocessors compute, or read the card's own memory.
  void add_beside(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, Engine engine,
                  const Walk& walk, bool compute) {
    const double longest_s = static_cast<double>(bytes) / (kSlowestLink_gb_s * 1e9);
    const std::vector<Axis> method = axes_of_method(engine, walk);
    PlannedLane copy{"copy", host_copy(to_gpu, engine, node, gpu.ordinal, bytes, walk), {}, false, 1};
    if (compute) {
      const PlannedLane::Computing computing{gpu.ordinal, node, longest_s, walk.load == Load::bulk};
      add(gpu, node, to_gpu, bytes, kBesideCompute, method, {copy, {"compute", {}, computing, true, 1}});
      return;
    }
    Transfer stream;
    stream.engine = Engine::sm;
    stream.source = Endpoint::gpu(Placement::device, gpu.ordinal);
    stream.destination = Endpoint::gpu(Placement::registers, gpu.ordinal);
    stream.bytes = streamed_bytes_;
    stream.walk.width_bytes = 16;
    stream.staging_node = node;
    const double pass_s = static_cast<double>(stream.bytes) / (kDeviceMemory_gb_s * 1e9);
    const int passes = std::clamp(static_cast<int>(longest_s / pass_s), 1, 200);
    if (walk.blocks == 0) {
      copy.transfer->walk.blocks = blocks_over_link(machine_, gpu.ordinal, walk);
    }
    add(gpu, node, to_gpu, bytes, kBesideStream, method, {copy, {"device_stream", stream, {}, true, passes}});
  }

  // A copy engine and a kernel share one direction of the link.
  void add_two_engines(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes) {
    const std::uint64_t half = bytes / 2 / 4 * 4;
    add(gpu, node, to_gpu, bytes, kTwoEngines, {},
        {{"copy_engine", host_copy(to_gpu, Engine::copy_engine, node, gpu.ordinal, half), {}, false, 1},
         {"kernel_copy", host_copy(to_gpu, Engine::sm, node, gpu.ordinal, half), {}, false, 1}});
  }

  void add(const GpuTarget& gpu, int node, bool to_gpu, std::uint64_t bytes, const char* what,
           const std::vector<Axis>& more, const std::vector<PlannedLane>& lanes) {
    Benchmark benchmark;
    benchmark.id.family = kContentionFamily;
    benchmark.id.axes = {{"what", what, AxisStyle::bare}, {"path", path_name(to_gpu), AxisStyle::bare}};
    benchmark.id.axes.insert(benchmark.id.axes.end(), more.begin(), more.end());
    benchmark.id.axes.push_back({"locality", gpu.locality(node), AxisStyle::hidden});
    benchmark.id.axes.push_back({"bytes", static_cast<std::int64_t>(bytes)});
    benchmark.id.site = {{"numa", node}, {"gpu", gpu.ordinal}};
    benchmark.skip = gpu.unavailable;
    for (const PlannedLane& lane : lanes) {
      if (lane.transfer && lane.transfer->engine == Engine::sm && !lane.transfer->within_gpu()) {
        benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
        if (lane.transfer->walk.load == Load::bulk) {
          benchmark.skip_for(why_no_bulk(machine_, gpu.ordinal));
        }
      }
    }
    carry_out_together(benchmark, lanes);
    benchmarks_.push_back(std::move(benchmark));
  }

  const Machine& machine_;
  const Grids& grids_;
  std::uint64_t streamed_bytes_ = kStreamedBytes;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family contention() {
  std::vector<DeclaredAxis> axes{
      word_axis("what", "what else runs: a copy the other way, more streams, a kernel, or both engines",
                {kOpposite, kStreams, kBesideCompute, kBesideStream, kTwoEngines}),
      word_axis("path", "which way the copy goes", {path_name(true), path_name(false)}),
      word_axis("method", "what copies, where it is one of both", names_of(kEngines, method_name),
                method_name(Engine::copy_engine))};
  const std::vector<DeclaredAxis> of_load = load_axes();
  axes.insert(axes.end(), of_load.begin(), of_load.end());
  axes.push_back(number_axis("blocks", "blocks of a kernel that copies; usual: as many as leave room",
                             {1, 65536}, kUsual, {kUsual}));
  axes.push_back(number_axis("streams", "among which the bytes are divided, of what=streams", {1, 64}, "1"));
  axes.push_back(size_axis("bytes", "bytes of the copy", {4, 1024 * kGiB}));
  axes.push_back(
      untold(size_axis("streamed", "of its own memory the GPU reads so much, of what=device_stream",
                       {4, 1024 * kGiB}, false, format_bytes(kStreamedBytes))));
  axes.insert(axes.end(), {gpu_axis(), node_axis()});
  return {kContentionFamily, kAboutContention, std::move(axes),
          [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
            return ContentionLister(machine, grids).list();
          }};
}

}  // namespace grainscope::harness
