#include "latency_case.hpp"

#include <utility>

namespace grainscope::harness {

std::function<Measurement(Session&)> probe_body(ProbeMaker make, int gpu, double minimum_operation_s) {
  return [make = std::move(make), gpu, minimum_operation_s](Session& session) {
    Measurement measurement = measure(session, [&] { return make(session.surroundings()); }, {.gpu = gpu});
    measurement.minimum_operation_s = minimum_operation_s;
    return measurement;
  };
}

}  // namespace grainscope::harness
