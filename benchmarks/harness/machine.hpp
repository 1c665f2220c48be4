#ifndef GRAINSCOPE_BENCHMARKS_HARNESS_MACHINE_HPP
#define GRAINSCOPE_BENCHMARKS_HARNESS_MACHINE_HPP

// The machine as families see it, read once at the start and changed by nobody; the part of it that a run is
// about; and the locks by which one run at a time has a GPU.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grainscope/core/case.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/cuda/runtime.hpp"
#include "grainscope/gnn/features.hpp"
#include "grainscope/gnn/labels.hpp"
#include "grainscope/graph/generate.hpp"
#include "grainscope/system/environment.hpp"
#include "grainscope/system/nvml.hpp"
#include "grainscope/system/topology.hpp"
#include "grainscope/system/warnings.hpp"
#include "grainscope/transfer/written.hpp"
#include "presets.hpp"

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

// Leaves so many bytes of each GPU's memory to cases, which plan with them; what runs a case holds the rest.
// Without `bytes` each has what it has. Throws EnvironmentError where one of the GPUs `wanted`, or of all
// where that is empty, has fewer.
void leave_gpu_memory(Machine& machine, std::optional<std::uint64_t> bytes, const std::vector<int>& wanted);

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
// Of the links of several GPUs together; absent where one of them is not known.
[[nodiscard]] std::optional<PhysicalLimit> host_link_limit(const Machine& machine,
                                                           const std::vector<int>& gpus);

// The fastest that `bytes` can be copied within a GPU: half of what its memory gives, read and written. Of
// bytes that are no fewer than its cache holds, but not many times as many, at least half the traffic, which
// is twice the bytes, goes to memory: all of what that gives. Where the cache may hold them, or the machine
// does not tell of its memory, what its multiprocessors can load. Absent where there is no such GPU.
[[nodiscard]] std::optional<PhysicalLimit> local_copy_limit(const Machine& machine, int gpu,
                                                            std::uint64_t bytes);

// The fastest that a GPU can read `bytes` of its own memory once each, or write them: what its cache may hold
// of them need not come from memory. Where it may hold all of them, as for reads that come again (0 bytes),
// what its multiprocessors can load. Absent where there is no such GPU.
[[nodiscard]] std::optional<PhysicalLimit> gpu_memory_limit(const Machine& machine, int gpu,
                                                            std::uint64_t bytes);

// Why host memory cannot be mapped into a GPU's address space here; empty where it can.
[[nodiscard]] std::string why_no_mapping(const Machine& machine, int gpu);

// Why managed memory cannot migrate on demand here; empty where it can.
[[nodiscard]] std::string why_no_migration(const Machine& machine, int gpu);

// Why a GPU cannot read so many bytes of host memory of a kind in place; empty where nothing is known against
// it.
[[nodiscard]] std::string why_no_memory(const Machine& machine, cuda::MemoryKind kind, int gpu,
                                        std::uint64_t bytes);

// Why several GPUs cannot read host memory of a kind; empty where they can.
[[nodiscard]] std::string why_not_by_several(cuda::MemoryKind kind);

// GPUs whose memory `gpu` reads, itself first; 16 at most.
[[nodiscard]] std::vector<int> sharing_gpus(const Machine& machine, int gpu);
// Those of them that reach each other: GPUs that work on one thing together.
[[nodiscard]] std::vector<int> team_of(const Machine& machine, int gpu);
// Why there are no two of them.
[[nodiscard]] std::string why_no_sharing(const Machine& machine, int gpu);
// Why there are not so many of them; empty where there are.
[[nodiscard]] std::string why_no_team(const Machine& machine, int gpu, std::size_t needed);

// Why a kernel cannot copy in bulk (TMA) here; empty where it can.
[[nodiscard]] std::string why_no_bulk(const Machine& machine, int gpu);

// Half of the host memory that may be taken, and half of a GPU's: the largest buffer that a case asks for.
[[nodiscard]] std::uint64_t largest_buffer(const Machine& machine, int gpu);

// No CPU copies or touches faster than this: two 64-byte accesses a cycle for each thread, at 6 GHz.
// With `operation_bytes` what each operation reads or writes at least: the limit is one of its time.
[[nodiscard]] PhysicalLimit cpu_limit(int threads, std::uint64_t operation_bytes = 0);

// No call takes less than that of an empty function: six cycles at 6 GHz.
[[nodiscard]] PhysicalLimit call_limit();

// What a run was asked for: the preset, how to sample, and what the user put in place of its values.

class Question;

struct Scope {
  Preset preset = Preset::quick;
  SamplingPlan sampling;
  int visits = 1;                          // of a run to each case
  int visits_here = 1;                     // of those, by this process
  std::optional<std::uint64_t> min_bytes;  // what the user set; else a family's own range holds
  std::optional<std::uint64_t> max_bytes;
  std::vector<GpuTarget> gpus;
  bool gpus_asked_for = false;
  std::vector<int> nodes;
  std::vector<graph::GraphSpec> graphs;          // what the user asked for; empty: a family's own
  std::shared_ptr<const gnn::NpyFile> features;  // of the one graph asked for; null: synthetic ones
  std::shared_ptr<const gnn::OwnLabels> labels;  // of the one graph asked for; null: a family's own
  std::string graph_cache;                       // where generated graphs are kept; empty: nowhere
  int trials = 8;                                // sources of a traversal
  double trials_s = 0;                           // that the plan has for them; 0: for all
  std::vector<std::uint64_t> hot_budgets;        // GPU memory for edges in lean/, beside the preset's shares
  // What the user gives axes in place of the preset's values: ("bytes", "4KiB,1MiB").
  std::vector<std::pair<std::string, std::string>> axes;
  std::shared_ptr<const Question> question;       // of which cases there are; null: of all
  std::vector<transfer::WrittenLanes> transfers;  // written down by the user, and then all that is listed

  // Whether the user's range has a size.
  [[nodiscard]] bool in_range(std::uint64_t bytes) const {
    return bytes >= min_bytes.value_or(0) && bytes <= max_bytes.value_or(UINT64_MAX);
  }

  // The local node and one remote; all where they are no more, or it is not known which is local.
  [[nodiscard]] std::vector<int> near_and_far(const GpuTarget& gpu) const;

  // Of the scope's nodes the GPU's own, else the first: where a program that minds its placement runs.
  // 0 where there are none.
  [[nodiscard]] int nearest_node(const GpuTarget& gpu) const;
};

// The preset's own sampling and visits, on the GPUs and nodes given. Which of them a case is listed for,
// the table of presets says.
[[nodiscard]] Scope make_scope(Preset preset, std::vector<GpuTarget> gpus, bool gpus_asked_for,
                               std::vector<int> nodes);

// One run a GPU at a time: two would measure each other.

// Holds an advisory lock for each GPU, by UUID, in a folder that all users of the machine share. The kernel
// drops it with the process, however that ends.
class [[nodiscard]] GpuLock {
 public:
  // Takes the locks in the order of the UUIDs, so that two runs cannot wait for each other.
  // With `wait` it says on stderr whom it waits for, until `interrupted`; without, it throws
  // EnvironmentError, as it does where the lock file cannot be opened.
  GpuLock(std::vector<std::string> uuids, bool wait, const std::function<bool()>& interrupted);
  ~GpuLock();
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;

 private:
  void release() noexcept;
  std::vector<int> files_;
};

}  // namespace grainscope::harness

#endif
