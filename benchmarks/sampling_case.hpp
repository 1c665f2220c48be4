#ifndef GRAINSCOPE_BENCHMARKS_SAMPLING_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_SAMPLING_CASE_HPP

// The bodies of sampling/neighbours.

#include <cstdint>
#include <optional>
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

[[nodiscard]] Measurement measure_cpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph);
[[nodiscard]] Measurement measure_gpu_sampling(Session& session, const SamplingPoint& point,
                                               const GnnGraph& graph);

}  // namespace grainscope::harness

#endif
