#ifndef GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP
#define GRAINSCOPE_BENCHMARKS_HOST_CASE_HPP

// What the host families share.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "grainscope/core/thread_team.hpp"
#include "grainscope/system/host_memory.hpp"
#include "harness/benchmark.hpp"

namespace grainscope::harness {

// CPUs of a node that this process may use; throws SkipError where there are none.
[[nodiscard]] std::vector<int> cpus_of(const Machine& machine, int node);

// The fastest that a team's threads read these bytes, each its part, in the state that `prepare` leaves them
// in, measured: no copy of them by these threads is faster. A quarter is
// added, by which a measurement may fall short.
[[nodiscard]] PhysicalLimit read_limit(ThreadTeam& team, const void* data, std::uint64_t bytes,
                                       const std::function<void()>& prepare);
// The same of `threads` threads on these CPUs and of as many bytes of a node's memory, 64 MiB at most, which
// the caches hold as far as they can: of fewer bytes they hold more.
[[nodiscard]] PhysicalLimit read_limit(const Machine& machine, int threads, const std::vector<int>& cpus,
                                       int node, std::uint64_t bytes);
// The fastest that a team's threads write as many bytes, each its part, `at_once` by one memset: one piece
// after another, or each thread its first over and over, which stays in the nearest cache.
enum class Pieces { each, first };
[[nodiscard]] PhysicalLimit write_limit(ThreadTeam& team, void* data, std::uint64_t bytes,
                                        std::uint64_t at_once, Pieces which);

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
