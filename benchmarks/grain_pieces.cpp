// grain/pieces: how fast do bytes cross the link when they are asked for in pieces of one size?
//
// Timed: copies, one a piece, in order, all enqueued behind a closed gate; of pageable memory on the host's
// clock, since the driver copies within the calls; the same number of copies submitted at once, as a batch or
// as a graph, on the host's clock from the call until the last has arrived; a kernel whose lanes read or
// write whole pieces that lie scattered over as many bytes as are moved, between two events behind a closed
// gate; prefetches, one a piece, between two events on an idle stream; a kernel that reads pieces of managed
// memory, each in 2 MiB of its own that live on the host, behind a closed gate.
// Bytes: pieces times their size. Of managed memory read on demand whole pages move, at least: how much is
// counted after each sample, and is what crossed the link. Requests in flight: load_latency.hpp.
// Source: EMOGI, section 3.3; Hockney's n½ for copies.
// Limits: pieces lie within a span that the GPU's address translation covers; reach/gather goes beyond.

#include <algorithm>
#include <memory>

#include "families.hpp"
#include "grain_method.hpp"
#include "grainscope/core/units.hpp"
#include "load_latency.hpp"
#include "shape_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::BatchCopy;
using transfer::Engine;
using transfer::Transfer;

constexpr std::uint64_t kChaseBytes = 2 * kMiB;

const char* const kFamily = "grain/pieces";

Measurement measure(Session& session, const Transfer& transfer, std::uint64_t grain,
                    LoadLatencies& latencies) {
  Measurement measurement = measure_transfer(session, transfer);
  measurement.operations = transfer.bytes / grain;
  if (transfer.engine == Engine::sm && transfer.to_gpu()) {
    latencies.add_in_flight(session.machine().topology,
                            {.to = cuda::ChaseSpec::To::host_memory,
                             .gpu = transfer.gpu(),
                             .node = transfer.node(),
                             .bytes = kChaseBytes,
                             .order = Cycle::Order::stride},
                            transfer.bytes, grain, measurement);
  }
  return measurement;
}

Measurement measure_batch(Session& session, const BatchCopy& copy, const Transfer& transfer) {
  Measurement measurement = measure_mover(
      session, [&] { return transfer::make_batch_mover(copy, session.surroundings()); }, transfer);
  measurement.operations = copy.batch.pieces;
  return measurement;
}

// The same pieces as those of `transfer`, but scattered and submitted at once.
void submit_at_once(Benchmark& benchmark, const GrainMethod& method, const Transfer& transfer,
                    const GpuTarget& gpu) {
  const ShapePath path{method.path(), {transfer.source, transfer.destination, transfer.node()}, gpu, "", ""};
  const BatchCopy copy{path.route,
                       transfer::scattered(transfer.piece_bytes, transfer.bytes / transfer.piece_bytes),
                       *method.batch};
  benchmark.needs = shape_needs(path, copy.batch.memory_bytes());
  benchmark.run = [=](Session& session) {
    return measure_batch(session, copy, path.as_transfer(copy.batch.bytes()));
  };
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope) {
  std::vector<Benchmark> benchmarks;
  const auto latencies = std::make_shared<LoadLatencies>();
  for (const GpuTarget& gpu : scope.program_gpus()) {
    for (const int node : scope.nodes_for(gpu)) {
      for (const GrainMethod& method : grain_methods()) {
        for (const std::uint64_t grain : grains(scope, method)) {
          const Transfer transfer = grain_transfer(method, node, gpu.ordinal, grain);
          Benchmark benchmark = transfer_benchmark(kFamily,
                                                   {{"method", method.name, AxisStyle::bare},
                                                    {"path", method.path(), AxisStyle::bare},
                                                    {"grain", static_cast<std::int64_t>(grain)}},
                                                   transfer, gpu, explain(method));
          benchmark.skip_for(why_not(machine, gpu.ordinal, method));
          benchmark.run = [=](Session& session) { return measure(session, transfer, grain, *latencies); };
          if (method.batch) {
            submit_at_once(benchmark, method, transfer, gpu);
          }
          benchmarks.push_back(std::move(benchmark));
        }
      }
    }
  }
  return benchmarks;
}

}  // namespace

Family grain_pieces() {
  return {kFamily,
          "How fast do bytes cross the link when they are asked for in pieces of one size?",
          {},
          [](const Machine& machine, const Scope& scope, const Grids& /*grids*/) {
            return list(machine, scope);
          }};
}

}  // namespace grainscope::harness
