#ifndef GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP

// What the host families share.

#include <string>
#include <vector>

#include "grainscope/system/host_memory.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// CPUs of a node that this process may use; throws SkipError where there are none.
[[nodiscard]] std::vector<int> cpus_of(const Machine& machine, int node);

// A cycle of this CPU, measured by a chain of additions that each wait for the one before: the shortest.
[[nodiscard]] double cycle_s();

// "local" or "remote"; "unknown" where the machine does not tell its nodes.
[[nodiscard]] std::string node_locality(const Machine& machine, int from, int to);

// The axis `pages`, of these kinds: base pages by that word, or by their size as names of cases have it.
[[nodiscard]] DeclaredAxis pages_axis(std::string means, const std::vector<PageKind>& kinds,
                                      std::string otherwise = {});
[[nodiscard]] PageKind page_kind_of(const std::string& word);

// "all": the CPUs of a node that this process may use.
[[nodiscard]] NamedNumbers cpus_by_name(const Machine& machine, int node);
// The axis `threads`, which may be all of them.
[[nodiscard]] DeclaredAxis threads_axis(std::string means);

}  // namespace grainscope::harness

#endif
