#ifndef GRAINSCOPE_BENCHMARKS_LOAD_LATENCY_HPP
#define GRAINSCOPE_BENCHMARKS_LOAD_LATENCY_HPP

// Requests in flight by Little's law: rate × latency / request, the request of a kernel being a piece, at
// most 128 bytes, and its latency that of a pointer chase in the same run.

#include <cstdint>
#include <map>
#include <tuple>

#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::harness {

// Each measured once a run, when it is first asked for.
class LoadLatencies {
 public:
  // To a kernel's row: counters `latency_s` and `requests_in_flight`. `chase`: loads from where it read,
  // always in the same order. Throws as the chase does.
  void add_in_flight(const Topology& topology, const cuda::ChaseSpec& chase, std::uint64_t bytes,
                     std::uint64_t grain, Measurement& measurement);

 private:
  double seconds(const Topology& topology, const cuda::ChaseSpec& chase);
  // By memory, GPU, node, peer and bytes.
  std::map<std::tuple<cuda::ChaseSpec::To, int, int, int, std::uint64_t>, double> known_;
};

}  // namespace grainscope::harness

#endif
