// transfer/duplex: what does a link carry when bytes go both ways at once?
//
// Timed: where the GPU does all of it, each direction between two events of its own, both behind gates that
// open together; pageable copies, prefetches and faults of the host on two host threads that start together,
// on the host's clock. A sample is the time during which either direction ran; each direction's own time is
// kept beside it. Both destinations held other data before and are checked.
// Between GPUs bytes go by `write`, each GPU sends, by `read`, each fetches, or by `read_write`, the first
// does both; copies without peer access (`off`) are staged through the host.
// Bytes: those of both directions. `overlap`: time both ran over time either ran.
// Source: Comm|Scope, section 3.2 and figure 7. Its duplex peer copy moved gpu1 to gpu1, its duplex prefetch
// took the stop event before the second prefetch, and its duplex zero-copy read loaded nothing; nvbandwidth's
// bidirectional copies are `contention/opposite_copy`.
// Limits: the two directions need not end together, and then one ran alone for a while: see `overlap`.

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

const char* const kFamily = "transfer/duplex";

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
  return {
      "what a link carries when bytes go both ways at once",
      "each direction by itself, both started at the same moment; a sample is the time either ran; each also "
      "alone",
      "bandwidth = bytes of both directions / median time; overlap = time both ran / time either ran",
      "Comm|Scope, section 3.2 and figure 7",
      between_gpus ? "events of two GPUs have no common clock: that both began together rests on gates which "
                     "open within a microsecond"
                   : "where one direction ends first, the other runs alone for the rest: see overlap"};
}

class Lister {
 public:
  Lister(const Machine& machine, const Grids& grids) : machine_(machine), grids_(grids) {}

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
    const std::uint64_t bytes = values.number("bytes");
    const Endpoint host = Endpoint::host(Placement::pinned, node);
    Benchmark benchmark;
    benchmark.id = {kFamily,
                    {{"between", kHostAndGpu, AxisStyle::bare},
                     {"method", name(method), AxisStyle::bare},
                     {"locality", gpu.locality(node), AxisStyle::hidden},
                     {"bytes", static_cast<std::int64_t>(bytes)}},
                    {{"numa", node}, {"gpu", gpu.ordinal}}};
    benchmark.skip = gpu.unavailable;
    if (migrates(method)) {
      benchmark.skip_for(why_no_migration(machine_, gpu.ordinal));
    }
    if (method == Method::zero_copy || method == Method::kernel_copy) {
      benchmark.skip_for(why_no_mapping(machine_, gpu.ordinal));
    }
    const Issuer issuer = method == Method::zero_copy ? Issuer::first : Issuer::destination;
    add(std::move(benchmark), one_way(method, host, gpu.ordinal, false, bytes, issuer),
        one_way(method, host, gpu.ordinal, true, bytes, issuer), "to_gpu", "to_host");
  }

  void add_peer(const GpuPair& pair, const Grid& grid, const Values& values) {
    const bool copies = values.is("method", kBetweenGpus);
    if (values.is("method", name(Method::pageable)) || values.is("method", name(Method::pinned))) {
      grids_.leave_out("between GPUs the copy engine's method is copy_engine");
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
    benchmark.id = {kFamily,
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
  return {
      kFamily,
      "What does a link carry when bytes go both ways at once?",
      {word_axis("between", "what the link joins", {kHostAndGpu, kGpus}),
       word_axis("method", "what moves the bytes", std::move(methods)),
       word_axis("direction", "between GPUs: each sends, each fetches, or the first does both",
                 names_of(kIssuers, direction), direction(Issuer::destination)),
       switch_axis("access",
                   "between GPUs: whether one addresses the other's memory; else the host is between", "on"),
       size_axis("bytes", "bytes of each direction", {4, 1024 * kGiB})},
      [](const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
        return Lister(machine, grids).list();
      }};
}

}  // namespace grainscope::harness
