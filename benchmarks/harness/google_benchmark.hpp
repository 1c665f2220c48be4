#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_GOOGLE_BENCHMARK_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_GOOGLE_BENCHMARK_HPP

// What is told to Google Benchmark before it runs: its flags, and the cases.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

namespace grainscope::harness {

// Hands flags on. Throws UsageError for one that the library at hand does not know.
void initialise_library(std::vector<std::string> flags);

// Registers a case under its own name. `body` is called once for each of its repetitions; one iteration is
// one visit, whose time the body sets. Times are shown in microseconds unless `flags`, those of
// initialise_library, say otherwise.
void register_case(const std::string& name, int repetitions, const std::vector<std::string>& flags,
                   std::function<void(benchmark::State&)> body);

}  // namespace grainscope::harness

#endif
