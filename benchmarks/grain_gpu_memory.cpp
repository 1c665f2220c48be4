// grain/gpu_memory: how fast does a kernel read or write pieces of one size in a peer's memory, or its own?
//
// Timed: one kernel whose lanes read or write whole pieces, down to a word, that lie scattered over as many
// bytes as are moved, between two events behind a closed gate.
// Bytes: pieces times their size, each once. Requests of reads in flight: load_latency.hpp, by a chase over
// as many bytes. Source: Comm|Scope's Comm_chunk_* and Comm_stride_* (c3sr/comm_scope, src/chunk,
// src/stride), whose pieces lie at equal distances; EMOGI, section 3.3, for the host's memory, which is
// grain/pieces. Limits: pieces lie within a span that the GPU's address translation covers. Of the GPU's own
// memory its cache may hold a part, and then no physical limit is known.

#include <algorithm>
#include <bit>
#include <memory>

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "load_latency.hpp"
#include "peer_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Endpoint;
using transfer::Engine;
using transfer::Placement;
using transfer::Transfer;
using transfer::Walk;

constexpr std::uint64_t kPeerBytes = 64 * kMiB;
// Many times what a cache of the GPU holds, and so long that a kernel's few microseconds do not count.
constexpr std::uint64_t kOwnBytes = 512 * kMiB;
constexpr std::uint64_t kWidestAccess = 16;
constexpr std::uint64_t kLargestGrain = 64 * kKiB;

const char* const kFamily = "grain/gpu_memory";

// A GPU, and whose memory it reads or writes: a peer's, or its own.
struct Place {
  GpuTarget gpu;
  int memory_of = 0;
  std::string link;  // what joins the two; empty within a card
  std::string skip;
  int node = 0;  // whose CPUs submit it

  [[nodiscard]] bool is_own() const { return link.empty(); }
};

std::vector<Place> places(const Machine& machine, const Scope& scope) {
  std::vector<Place> all;
  all.reserve(scope.gpus.size());
  for (const GpuTarget& gpu : scope.gpus) {
    all.push_back({gpu, gpu.ordinal, "", gpu.unavailable, scope.nearest_node(gpu)});
  }
  for (const GpuPair& pair : gpu_pairs(machine, scope)) {
    // The same wire answers both orders: a short run asks for one.
    if (scope.dense() || pair.gpu.ordinal < pair.peer) {
      all.push_back({pair.gpu, pair.peer, pair.link, pair.why_no_access(), scope.nearest_node(pair.gpu)});
    }
  }
  return all;
}

std::vector<std::uint64_t> grains(const Scope& scope) {
  if (scope.preset == Preset::smoke) {
    return {4, 128};
  }
  if (!scope.dense()) {
    return {4, 16, 32, 64, 128, 512, 4 * kKiB};
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t grain = 4; grain <= kLargestGrain; grain *= 2) {
    all.push_back(grain);
  }
  return all;
}

Transfer make_walk(const Place& place, bool reads, std::uint64_t grain, std::uint64_t bytes) {
  Transfer walk;
  walk.engine = Engine::sm;
  walk.source = Endpoint::gpu(Placement::device, place.memory_of);
  walk.destination = Endpoint::gpu(Placement::registers, place.gpu.ordinal);
  if (!reads) {
    std::swap(walk.source, walk.destination);
  }
  walk.by_source = !reads;
  walk.bytes = bytes;
  walk.walk.pattern = Walk::Pattern::scattered;
  walk.walk.width_bytes = static_cast<int>(std::min(grain, kWidestAccess));
  walk.walk.piece_bytes = grain;
  walk.staging_node = place.node;
  return walk;
}

Measurement measure(Session& session, const Place& place, const Transfer& walk, std::uint64_t grain,
                    LoadLatencies& latencies) {
  Measurement measurement = measure_transfer(session, walk);
  measurement.operations = walk.bytes / grain;
  if (!walk.by_source) {
    latencies.add_in_flight(
        session.machine().topology,
        {.to = place.is_own() ? cuda::ChaseSpec::To::own_memory : cuda::ChaseSpec::To::peer_memory,
         .gpu = place.gpu.ordinal,
         .peer = place.memory_of,
         .bytes = std::bit_floor(walk.bytes)},
        walk.bytes, grain, measurement);
  }
  return measurement;
}

Benchmark make_benchmark(const Place& place, bool reads, std::uint64_t grain, std::uint64_t bytes,
                         const std::shared_ptr<LoadLatencies>& latencies) {
  const Transfer walk = make_walk(place, reads, grain, bytes);
  Benchmark benchmark;
  benchmark.id = {kFamily,
                  {{"direction", reads ? "read" : "write", AxisStyle::bare},
                   {"memory", place.is_own() ? "own" : "peer", AxisStyle::bare},
                   {"grain", static_cast<std::int64_t>(grain)},
                   {"bytes", static_cast<std::int64_t>(bytes)}},
                  {{"gpu", place.gpu.ordinal}}};
  if (!place.is_own()) {
    benchmark.id.axes.push_back({"link", place.link, AxisStyle::hidden});
    benchmark.id.site.push_back({"peer", place.memory_of});
  }
  benchmark.skip = place.skip;
  carry_out(benchmark, walk);
  benchmark.explanation = {
      "how fast a kernel reads or writes pieces of one size in a GPU's memory",
      "one kernel over scattered pieces, between two events behind a closed gate",
      "bandwidth = pieces x grain / median time; of reads requests in flight = rate x latency / request",
      "Comm|Scope (c3sr/comm_scope): Comm_chunk_pull, Comm_chunk_push, Comm_stride_pull, Comm_stride_push",
      "of the GPU's own memory its cache may hold a part, and then no physical limit is known"};
  benchmark.run = [place, walk, grain, latencies](Session& session) {
    return measure(session, place, walk, grain, *latencies);
  };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  const auto latencies = std::make_shared<LoadLatencies>();
  for (const Place& place : places(machine, scope)) {
    for (const bool reads : {true, false}) {
      for (const std::uint64_t grain : grains(scope)) {
        for (const std::uint64_t bytes : scope.one_size(place.is_own() ? kOwnBytes : kPeerBytes)) {
          benchmarks.push_back(make_benchmark(place, reads, grain, bytes, latencies));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family grain_gpu_memory() {
  return {kFamily,
          "How fast does a kernel read or write pieces of one size in a peer's memory, or its own?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return list(machine, scope);
          }};
}

}  // namespace grainscope::harness
