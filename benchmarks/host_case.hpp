#ifndef GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP

// What the host families share.

#include <string>
#include <vector>

#include "harness/benchmark.hpp"

namespace grainscope::harness {

// CPUs of a node that this process may use; throws SkipError where there are none.
[[nodiscard]] std::vector<int> cpus_of(const Machine& machine, int node);

// "local" or "remote"; "unknown" where the machine does not tell its nodes.
[[nodiscard]] std::string node_locality(const Machine& machine, int from, int to);

// 1, 2, 4, … and all the CPUs of a node; only 1 and all where the scope is not dense.
[[nodiscard]] std::vector<int> team_sizes(const Machine& machine, const Scope& scope, int node);

}  // namespace grainscope::harness

#endif
