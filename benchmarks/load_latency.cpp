#include "load_latency.hpp"

#include <algorithm>
#include <vector>

#include "grainscope/core/statistics.hpp"

namespace grainscope::harness {
namespace {

constexpr std::uint64_t kRequestBytes = 128;  // the largest of a kernel
constexpr int kChases = 9;

}  // namespace

double LoadLatencies::seconds(const Topology& topology, const cuda::ChaseSpec& chase) {
  const std::tuple key{chase.to, chase.gpu, chase.node, chase.peer, chase.bytes};
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  const auto probe = cuda::make_chase(chase, topology);
  Measurement chased;
  probe->describe(chased);
  std::vector<double> seconds;
  seconds.reserve(kChases);
  for (int i = 0; i < kChases; ++i) {
    seconds.push_back(sample(*probe) / static_cast<double>(chased.operations));
  }
  static_cast<void>(probe->verify());
  return known_.emplace(key, summarize(seconds).median).first->second;
}

void LoadLatencies::add_in_flight(const Topology& topology, const cuda::ChaseSpec& chase, std::uint64_t bytes,
                                  std::uint64_t grain, Measurement& measurement) {
  const double latency_s = seconds(topology, chase);
  const auto request = static_cast<double>(std::min(grain, kRequestBytes));
  const double rate = static_cast<double>(bytes) / measurement.samples.summary.median;
  measurement.counters["latency_s"] = latency_s;
  measurement.counters["requests_in_flight"] = rate * latency_s / request;
}

}  // namespace grainscope::harness
