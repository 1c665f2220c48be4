#ifndef GRAINSCOPE_BENCHMARKS_SAMPLING_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_SAMPLING_CASE_HPP

// The bodies of sampling/neighbours.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gnn_case.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"

namespace grainscope::harness {

struct SamplingPoint {
  graph::GraphSpec spec;
  std::vector<int> fanouts;
  std::uint64_t batch = 1000;             // seeds
  std::optional<gnn::ListRequest> lists;  // on a GPU
  int node = 0;                           // where page-locked lists lie
};

// Seeds, and the mini-batches that must come of them, by whomever they are sampled.
struct ExpectedBatches {
  std::vector<std::vector<graph::Vertex>> seeds;
  std::vector<gnn::MiniBatch> batches;
  std::string verification;  // how these were checked
};
// By graph, fan-outs and seeds: cases that differ in who samples share one.
using ExpectedBatchesCache = ClaimCache<std::string, ExpectedBatches>;

// What the CPU samples, certified; the first, if it is not too large, also held against the serial oracle.
// Throws SkipError where the graph has fewer vertices than a mini-batch has seeds, FailedError where what was
// sampled is wrong.
[[nodiscard]] ExpectedBatches expect_batches(const SamplingPoint& point, const GnnGraph& graph);

[[nodiscard]] Measurement measure_cpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph, const ExpectedBatches& expected);
[[nodiscard]] Measurement measure_gpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph, const ExpectedBatches& expected);

}  // namespace grainscope::harness

#endif
