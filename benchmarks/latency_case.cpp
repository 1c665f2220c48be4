#include "latency_case.hpp"

#include <utility>

namespace grainscope::harness {

std::vector<std::uint64_t> few_or_all(const Scope& scope, std::uint64_t low, std::uint64_t high,
                                      const std::vector<std::uint64_t>& few) {
  if (scope.dense()) {
    return scope.sizes(low, high);
  }
  std::vector<std::uint64_t> chosen;
  for (const std::uint64_t bytes : few) {
    const bool in_range =
        bytes >= scope.min_bytes.value_or(0) && bytes <= scope.max_bytes.value_or(UINT64_MAX);
    if (in_range && (chosen.empty() || scope.preset != Preset::smoke)) {
      chosen.push_back(bytes);
    }
  }
  return chosen;
}

std::function<Measurement(Session&)> probe_body(ProbeMaker make, int gpu, double minimum_operation_s) {
  return [make = std::move(make), gpu, minimum_operation_s](Session& session) {
    const auto probe = make(session.surroundings());
    Measurement measurement;
    measurement.samples = session.sample([&] { return probe->sample(); }, gpu, measurement);
    measurement.verification = probe->verify();
    measurement.timing = probe->timing();
    measurement.operations = probe->operations();
    measurement.minimum_operation_s = minimum_operation_s;
    return measurement;
  };
}

}  // namespace grainscope::harness
