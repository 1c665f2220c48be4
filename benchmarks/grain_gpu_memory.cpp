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

constexpr std::uint64_t kWidestAccess = 16;
const char* const kOwn = "own";
const char* const kPeer = "peer";

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

Benchmark make_benchmark(const Place& place, const Transfer& walk,
                         const std::shared_ptr<LoadLatencies>& latencies) {
  const std::uint64_t grain = walk.walk.piece_bytes;
  Benchmark benchmark;
  benchmark.id = {kFamily,
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

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
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
  return {kFamily,
          "How fast does a kernel read or write pieces of one size in a peer's memory, or its own?",
          {word_axis("direction", "whether the kernel reads or writes", {"read", "write"}),
           word_axis("memory", "whose memory it is: a peer's, or the GPU's own", {kPeer, kOwn}),
           size_axis("grain", "bytes of a piece: a power of two", {4, kGiB}, false),
           size_axis("bytes", "of all pieces together: a power of two", {128, 1024 * kGiB})},
          list};
}

}  // namespace grainscope::harness
