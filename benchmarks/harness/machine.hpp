#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_MACHINE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_MACHINE_HPP

// The machine as families see it: read once at the start, changed by nobody.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grainscope/core/case.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/system/environment.hpp"
#include "grainscope/system/nvml.hpp"
#include "grainscope/system/topology.hpp"
#include "grainscope/system/warnings.hpp"

namespace grainscope::harness {

struct Machine {
  Topology topology;
  cuda::RuntimeReport runtime;
  std::unique_ptr<Nvml> nvml;  // null where there is none; `environment.driver` says why
  Environment environment;
  std::vector<Warning> warnings;

  [[nodiscard]] const GpuReport* find_gpu(int ordinal) const;
};

[[nodiscard]] Machine read_machine(const Roots& roots = {});

// A GPU to list cases for. With none in the machine a nominal one stands in, so that listings show what
// would run: every case of it is skipped for `unavailable`.
struct GpuTarget {
  int ordinal = 0;
  std::string unavailable;  // why nothing can run on it; empty: it can be used
  std::optional<int> local_node;

  // "local", "remote", or "unknown" where the machine does not tell.
  [[nodiscard]] std::string locality(int node) const;
};

// Whether a place of a case is a GPU: else it is a NUMA node.
[[nodiscard]] bool is_gpu(const Site& site);

// The GPUs asked for; `wanted` empty: all, or the nominal one. Throws EnvironmentError for one that does
// not exist.
[[nodiscard]] std::vector<GpuTarget> gpu_targets(const Machine& machine, const std::vector<int>& wanted);

// The NUMA nodes asked for; `wanted` empty: all that have CPUs and memory this process may use.
// Throws EnvironmentError for one that does not exist or cannot be used.
[[nodiscard]] std::vector<int> node_targets(const Machine& machine, const std::vector<int>& wanted);

// The fastest that bytes can cross between host and GPU; absent where the machine tells nothing of it.
[[nodiscard]] std::optional<PhysicalLimit> host_link_limit(const Machine& machine, int gpu);

// The fastest that `bytes` can be copied within a GPU: half of what its memory gives, read and written. Of
// bytes that are no fewer than its cache holds, but not many times as many, at least half the traffic, which
// is twice the bytes, goes to memory: all of what that gives. Absent where the cache may hold them, or the
// machine does not tell.
[[nodiscard]] std::optional<PhysicalLimit> local_copy_limit(const Machine& machine, int gpu,
                                                            std::uint64_t bytes);

// Why host memory cannot be mapped into a GPU's address space here; empty where it can.
[[nodiscard]] std::string why_no_mapping(const Machine& machine, int gpu);

// Why managed memory cannot migrate on demand here; empty where it can.
[[nodiscard]] std::string why_no_migration(const Machine& machine, int gpu);

// Half of the host memory that may be taken, and half of a GPU's: the largest buffer that a case asks for.
[[nodiscard]] std::uint64_t largest_buffer(const Machine& machine, int gpu);

// No CPU copies or touches faster than this: two 64-byte accesses a cycle for each thread, at 6 GHz.
[[nodiscard]] PhysicalLimit cpu_limit(int threads);

}  // namespace grainscope::harness

#endif
