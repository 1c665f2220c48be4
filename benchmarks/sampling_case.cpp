#include "sampling_case.hpp"

#include <omp.h>

#include <functional>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/gnn/sampling.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::harness {
namespace {

using gnn::MiniBatch;
using graph::Vertex;

// Consecutive samples draw different mini-batches, in turn: this many.
constexpr std::uint64_t kTurns = 4;
// What the serial oracle takes a second or two for; larger mini-batches are certified alone.
constexpr std::uint64_t kMostSerialEdges = std::uint64_t{1} << 22;

std::vector<Vertex> seeds_of(Vertex vertices, std::uint64_t batch, std::uint64_t turn) {
  const gnn::Permutation places(vertices, kGnnSeed);
  std::vector<Vertex> seeds(batch);
  for (std::uint64_t i = 0; i < batch; ++i) {
    seeds[i] = static_cast<Vertex>(places((turn * batch + i) % vertices));
  }
  return seeds;
}

void require_equal(const MiniBatch& expected, const MiniBatch& sampled, std::uint64_t turn) {
  if (!(expected == sampled)) {
    throw FailedError(
        "wrong result: mini-batch " + std::to_string(turn) + " has " + std::to_string(sampled.nodes.size()) +
        " nodes and " + std::to_string(sampled.sampled_edges) + " edges where " +
        std::to_string(expected.nodes.size()) + " and " + std::to_string(expected.sampled_edges) +
        " are expected, or others: it is not the one that its seeds lead to");
  }
}

// `run`: seconds of a mini-batch, which it samples and holds against the expected one.
Measurement measure_batches(Session& session, const ExpectedBatches& expected, const GnnGraph& graph,
                            const Timing& timing, const std::function<double(std::uint64_t batch)>& run) {
  std::uint64_t turn = 0;
  const auto verify = [&] {
    return "every mini-batch of every sample equals, bit for bit, the CPU's of the same seeds, drawn "
           "before: " +
           expected.verification;
  };
  LocalOperation sampling({.run = [&] { return run(turn++ % kTurns); }, .verify = verify, .timing = timing});
  Measurement measurement = measure(session, sampling);
  double edges = 0;
  double nodes = 0;
  for (const MiniBatch& batch : expected.batches) {
    edges += static_cast<double>(batch.sampled_edges) / kTurns;
    nodes += static_cast<double>(batch.nodes.size()) / kTurns;
  }
  measurement.operations = static_cast<std::uint64_t>(edges);
  measurement.counters["sampled_edges"] = edges;
  measurement.counters["nodes"] = nodes;
  measurement.counters["edges_per_s"] = edges / measurement.samples.summary.median;
  measurement.graph = graph.facts();
  return measurement;
}

}  // namespace

ExpectedBatches expect_batches(const SamplingPoint& point, const GnnGraph& graph) {
  if (point.batch > graph.vertices()) {
    throw SkipError("the graph has " + std::to_string(graph.vertices()) +
                    " vertices, fewer than a mini-batch of " + std::to_string(point.batch) + " seeds");
  }
  gnn::CpuSampler sampler(graph.in_edges(), {point.fanouts, kGnnSeed});
  ExpectedBatches expected;
  expected.seeds.reserve(kTurns);
  expected.batches.reserve(kTurns);
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    expected.seeds.push_back(seeds_of(graph.vertices(), point.batch, turn));
    const auto& seeds = expected.seeds.back();
    expected.batches.push_back(sampler.sample(seeds, turn));
    expected.verification =
        gnn::certify_sample(graph.in_edges(), point.fanouts, seeds, expected.batches.back());
  }
  const MiniBatch& first = expected.batches.front();
  if (first.sampled_edges <= kMostSerialEdges) {
    if (gnn::serial_sample(graph.in_edges(), {point.fanouts, kGnnSeed}, expected.seeds.front(), 0) != first) {
      throw FailedError("wrong result: the CPU's mini-batch differs from that of the serial oracle");
    }
    expected.verification += "; the first equals the serial oracle's";
  }
  return expected;
}

Measurement measure_cpu_sampling(Session& session, const SamplingPoint& point, const GnnGraph& graph,
                                 const ExpectedBatches& expected) {
  gnn::CpuSampler sampler(graph.in_edges(), {point.fanouts, kGnnSeed});
  MiniBatch sampled;
  const auto run = [&](std::uint64_t batch) {
    const double start_s = steady_now_s();
    sampler.sample(expected.seeds[batch], batch, sampled);
    const double seconds = steady_now_s() - start_s;
    require_equal(expected.batches[batch], sampled, batch);
    return seconds;
  };
  Measurement measurement = measure_batches(
      session, expected, graph, {Clock::steady, false, "the sampling of one mini-batch by all threads"}, run);
  measurement.counters["threads"] = omp_get_max_threads();
  return measurement;
}

Measurement measure_gpu_sampling(Session& session, const SamplingPoint& point, const GnnGraph& graph,
                                 const ExpectedBatches& expected) {
  const NodeBinding binding(session.machine().topology, point.node);
  const auto lists = gnn::place_lists(graph.in_edges(), *point.lists);
  const auto sampler = gnn::make_gpu_sampler(*lists, {point.fanouts, kGnnSeed}, point.batch);
  const auto batch_memory = sampler->make_batch();
  const auto run = [&](std::uint64_t batch) {
    const double seconds = sampler->run(expected.seeds[batch], batch, *batch_memory);
    require_equal(expected.batches[batch], batch_memory->copy(), batch);
    return seconds;
  };
  Measurement measurement =
      measure_batches(session, expected, graph,
                      {Clock::event, false, "the copy of the seeds and all kernels of one mini-batch"}, run);
  measurement.counters["gpu_bytes"] =
      static_cast<double>(lists->gpu_bytes() + sampler->gpu_bytes() + batch_memory->gpu_bytes());
  return measurement;
}

}  // namespace grainscope::harness
