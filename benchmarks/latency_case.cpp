#include "latency_case.hpp"

#include <utility>

namespace grainscope::harness {

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
