#ifndef GRAINSCOPE_BENCHMARKS_LATENCY_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_LATENCY_CASE_HPP

// What the families of latencies and of calls share.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "grainscope/cuda/probe.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// Nothing crosses a link faster than light and two controllers allow.
inline constexpr double kFastestOverLink_s = 100e-9;

// A benchmark's body: makes a probe, samples it with the board's energy of `gpu`, and verifies it.
// `minimum_operation_s`: no operation of it can be faster.
using ProbeMaker = std::function<std::unique_ptr<Operation>(const transfer::Surroundings&)>;
[[nodiscard]] std::function<Measurement(Session&)> probe_body(ProbeMaker make, int gpu,
                                                              double minimum_operation_s);

}  // namespace grainscope::harness

#endif
