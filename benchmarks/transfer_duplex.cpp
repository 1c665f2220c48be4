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

#include <algorithm>
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

constexpr std::uint64_t kSmallest = 64 * kKiB;
constexpr std::uint64_t kLargest = 256 * kMiB;
constexpr std::uint64_t kLargestPeers = kGiB;       // over a link that takes so much to fill
constexpr std::uint64_t kLargestHeavy = 64 * kMiB;  // of what takes the driver or the CPU long

const char* const kFamily = "transfer/duplex";

enum class Method { pageable, pinned, kernel_copy, zero_copy, demand, prefetch };

// Which end issues a direction: always the one that sends, the one that receives, or the first GPU.
enum class Issuer { source, destination, first };

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
  Lister(const Machine& machine, const Scope& scope) : machine_(machine), scope_(scope) {}

  std::vector<Benchmark> list() {
    for (const GpuTarget& gpu : scope_.gpus) {
      for (const int node : scope_.nodes_for(gpu)) {
        add_host(gpu, node);
      }
    }
    for (const GpuPair& pair : gpu_pairs(machine_, scope_)) {
      add_peer(pair);
    }
    return std::move(benchmarks_);
  }

 private:
  // `access`: between GPUs, with peer access or without.
  [[nodiscard]] std::vector<std::uint64_t> sizes(Method method, std::optional<bool> access = {}) const {
    const bool heavy = method == Method::pageable || migrates(method) || !access.value_or(true);
    const std::uint64_t most = heavy ? kLargestHeavy : kLargest;
    if (scope_.preset == Preset::quick) {
      return scope_.few_or_all(kSmallest, most, {kMiB, 16 * kMiB, most});
    }
    return scope_.sizes(kSmallest, access && !heavy ? kLargestPeers : most);
  }

  void add(Benchmark benchmark, const Transfer& in, const Transfer& out, const char* in_name,
           const char* out_name) {
    benchmark.explanation = explain(in.between_gpus());
    carry_out_together(benchmark, {{in_name, in, {}, false, 1}, {out_name, out, {}, false, 1}});
    benchmarks_.push_back(std::move(benchmark));
  }

  void add_host(const GpuTarget& gpu, int node) {
    for (const Method method : {Method::pageable, Method::pinned, Method::kernel_copy, Method::zero_copy,
                                Method::demand, Method::prefetch}) {
      for (const std::uint64_t bytes : sizes(method)) {
        const Endpoint host = Endpoint::host(Placement::pinned, node);
        Benchmark benchmark;
        benchmark.id = {kFamily,
                        {{"between", "host_gpu", AxisStyle::bare},
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
    }
  }

  void add_peer(const GpuPair& pair) {
    add_peer(pair, Method::zero_copy, Issuer::first, {});
    if (pair.gpu.ordinal > pair.peer) {
      return;  // all others are the same seen from either
    }
    for (const Method method : {Method::pinned, Method::kernel_copy, Method::zero_copy}) {
      for (const Issuer issuer : {Issuer::source, Issuer::destination}) {
        add_peer(pair, method, issuer, {});
      }
    }
    for (const int node : scope_.nodes_for(pair.gpu)) {
      add_peer(pair, Method::pinned, Issuer::source, node);
    }
    // Managed pages come to the GPU that touches them.
    add_peer(pair, Method::demand, Issuer::destination, {});
    add_peer(pair, Method::prefetch, Issuer::destination, {});
  }

  // `staging_node`: without peer access the host lies between them, and it matters which node.
  void add_peer(const GpuPair& pair, Method method, Issuer issuer, std::optional<int> staging_node) {
    for (const std::uint64_t bytes : sizes(method, !staging_node)) {
      const Endpoint peer = Endpoint::gpu(Placement::device, pair.peer);
      Benchmark benchmark;
      benchmark.id = {kFamily,
                      {{"between", "gpu_gpu", AxisStyle::bare},
                       {"method", method == Method::pinned ? "copy_engine" : name(method), AxisStyle::bare}},
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
  }

  const Machine& machine_;
  const Scope& scope_;
  std::vector<Benchmark> benchmarks_;
};

}  // namespace

Family transfer_duplex() {
  return {kFamily, "What does a link carry when bytes go both ways at once?",
          [](const Machine& machine, const Scope& scope) { return Lister(machine, scope).list(); }};
}

}  // namespace grainscope::harness
