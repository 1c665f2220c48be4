// shape/batch: what do many small copies cost, and does submitting them together help?
//
// Pieces of one size lie scattered, with gaps, at both ends, in another order at the destination.
// Timed: on the host's clock, from the first call until an event behind the last copy has completed, for
// every method alike, since submission is half of the price. Not timed: the arrays for cudaMemcpyBatchAsync,
// the graph's instantiation and upload, the kernel's table on the GPU; a program that copies the same pieces
// again and again pays for those once. Bytes: those of the pieces; an operation is one piece. Source:
// Comm|Scope's `Comm_cudart_*` graph benchmarks; the CUDA runtime's documentation of cudaMemcpyBatchAsync.
// Limits: all pieces have one size; the order of addresses is random, and the same in every run.

#include "families.hpp"
#include "grainscope/core/units.hpp"
#include "grainscope/transfer/shape.hpp"
#include "shape_case.hpp"
#include "transfer_case.hpp"

namespace grainscope::harness {
namespace {

using transfer::Batch;
using transfer::BatchCopy;
using transfer::BatchMethod;

const char* const kFamily = "shape/batch";

constexpr BatchMethod kMethods[] = {BatchMethod::one_by_one, BatchMethod::batch, BatchMethod::graph,
                                    BatchMethod::kernel};

std::string why_not(const Machine& machine, const ShapePath& path, BatchMethod method) {
  if (!path.why_not.empty()) {
    return path.why_not;
  }
  if (method == BatchMethod::batch) {
    return why_no_batch_copy(machine);
  }
  return method == BatchMethod::kernel && path.route.has_host() ? why_no_mapping(machine, path.gpu.ordinal)
                                                                : std::string();
}

std::string submitted_by(BatchMethod method) {
  switch (method) {
    case BatchMethod::one_by_one:
      return "one cudaMemcpyAsync a piece";
    case BatchMethod::batch:
      return "one cudaMemcpyBatchAsync; its arrays are made beforehand";
    case BatchMethod::graph:
      return "one launch of a graph of independent copies, instantiated and uploaded beforehand";
    case BatchMethod::kernel:
      return "one kernel, a warp a piece (a block where pieces are over 8 KiB), whose table lies on the GPU "
             "beforehand";
  }
  return {};
}

Explanation explain(BatchMethod method) {
  return {
      "the time of many small copies that are wanted together",
      submitted_by(method) +
          "; on the host's clock, from the first call until an event behind the last "
          "copy has completed",
      "bandwidth = piece * pieces / median time; an operation is one piece",
      "CUDA runtime API, cudaMemcpyBatchAsync; Comm|Scope (c3sr/comm_scope), graphs of cudaMemcpyAsync",
      "pieces of one size in a random order of addresses, the same in every run; what is made beforehand is "
      "not counted"};
}

Benchmark make_benchmark(const Machine& machine, const ShapePath& path, const Batch& batch,
                         BatchMethod method) {
  const BatchCopy copy{path.route, batch, method};
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  Benchmark benchmark;
  benchmark.id = shape_case(kFamily, path, name(method),
                            {{"piece", number(batch.piece_bytes)},
                             {"pieces", number(batch.pieces)},
                             {"bytes", number(batch.bytes())}});
  benchmark.skip = why_not(machine, path, method);
  benchmark.needs = shape_needs(path, batch.memory_bytes());
  benchmark.explanation = explain(method);
  benchmark.run = [copy, path](Session& session) {
    Measurement measurement = measure_mover(
        session, [&] { return transfer::make_batch_mover(copy, session.surroundings()); },
        path.as_transfer(copy.batch.bytes()));
    measurement.operations = copy.batch.pieces;
    return measurement;
  };
  return benchmark;
}

std::vector<Benchmark> list(const Machine& machine, const Scope& scope, const Grids& grids) {
  std::vector<Benchmark> benchmarks;
  each_path(machine, scope, grids, [&](const ShapePath& path, const Grid& /*grid*/, const Values& values) {
    const Batch batch = transfer::scattered(values.number("piece"), values.number("pieces"));
    if (scope.in_range(batch.bytes())) {
      benchmarks.push_back(make_benchmark(
          machine, path, batch,
          enumerator(values.word("method"), kMethods, [](BatchMethod each) { return name(each); })));
    }
  });
  return benchmarks;
}

}  // namespace

Family shape_batch() {
  return {kFamily,
          "What do many small copies cost one by one, in a batch, as a graph and by a kernel?",
          {word_axis("path", "from where to where", {"host_to_gpu", "gpu_to_host", "local", "gpu_to_peer"}),
           word_axis("method", "how the copies are submitted",
                     names_of(kMethods, [](BatchMethod each) { return name(each); })),
           size_axis("piece", "bytes of a piece", {1, kGiB}, false),
           number_axis("pieces", "how many", {1, 65536})},
          list};
}

}  // namespace grainscope::harness
