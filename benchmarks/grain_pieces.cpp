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

std::vector<Benchmark> list(const Machine& machine, const Scope& /*scope*/, const Grids& grids) {
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
      const Transfer transfer = grain_transfer(*method, node, gpu.ordinal, grain);
      Benchmark benchmark = transfer_benchmark(kFamily,
                                               {{"method", method->name, AxisStyle::bare},
                                                {"path", method->path(), AxisStyle::bare},
                                                {"grain", values.at("grain")}},
                                               transfer, gpu, explain(*method));
      benchmark.skip_for(why_not(machine, gpu.ordinal, *method));
      benchmark.run = [=](Session& session) { return measure(session, transfer, grain, *latencies); };
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
  return {kFamily,
          "How fast do bytes cross the link when they are asked for in pieces of one size?",
          {word_axis("method", "how the pieces are asked for", method_names()),
           word_axis("path", "which way they go", {"host_to_gpu", "gpu_to_host"}),
           size_axis("grain", "bytes of a piece: a power of two", {4, kLargestGrain}, false)},
          list};
}

}  // namespace grainscope::harness
