#ifndef GRAINSCOPE_CUDA_PROBE_HPP
#define GRAINSCOPE_CUDA_PROBE_HPP

// Latencies and costs of calls as data: what is asked, and its operation, which knows how many operations are
// in a sample. Families include this; it knows nothing of the toolkit.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "grainscope/core/cycle.hpp"
#include "grainscope/core/operation.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::cuda {

class ManagedBudget;

// A walk along a chain of pointers by one thread of a GPU.
struct ChaseSpec {
  enum class To { host_memory, peer_memory, own_memory };
  To to = To::host_memory;
  int gpu = 0;              // walks
  int node = 0;             // of the host memory
  int peer = 0;             // of the peer memory
  std::uint64_t bytes = 0;  // of the chain: a power of two
  Cycle::Order order = Cycle::Order::shuffled;
};

// Round trips of a flag.
struct FlagSpec {
  bool between_gpus = false;  // else between the CPU and a GPU
  int gpu = 0;
  int node = 0;
  int peer = 0;
};

// First touches of managed pages that live on the other side.
struct TouchSpec {
  bool to_gpu = true;
  int gpu = 0;
  int node = 0;                  // of the host's pages, and of the CPU that calls
  std::optional<int> from_peer;  // whose pages the GPU touches, in place of the host's
};

// What a call of the runtime costs.
enum class Call {
  launch,
  launch_with_arguments,
  launch_by_threads,
  launch_and_wait,
  stream_synchronize,
  device_synchronize,
  device_synchronize_by_threads,
  event_record,
  event_synchronize,
  stream_wait_event,
  graph_instantiate,
  graph_launch,
  graph_instantiate_copies,
  graph_launch_copies,
  graph_launch_copies_3d,
  malloc,
  free,
  malloc_async,
  free_async,
  host_alloc,
  host_free,
  host_register,
  host_unregister,
  malloc_managed,
  managed_free,
  managed_first_touch,
  managed_first_touch_by_host,
};
[[nodiscard]] const char* name(Call call);

struct CallSpec {
  Call what = Call::launch;
  int gpu = 0;
  int node = 0;                     // of the CPU that calls, and of host memory
  std::uint64_t bytes = 0;          // of calls that take or give memory
  PageKind pages = PageKind::base;  // of memory that is registered
  int graph_nodes = 0;              // of calls on graphs
  int argument_bytes = 0;           // of a launch with arguments: 64, 1024 or 4096
  int threads = 1;                  // that call at once, of calls by threads
};

// Allocate and initialise. SkipError where this machine cannot, EnvironmentError or FailedError where
// something that should work does not; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Operation> make_chase(const ChaseSpec& spec, const Topology& topology);
[[nodiscard]] std::unique_ptr<Operation> make_flag(const FlagSpec& spec, const Topology& topology);
[[nodiscard]] std::unique_ptr<Operation> make_managed_touch(const TouchSpec& spec, const Topology& topology,
                                                            ManagedBudget& budget);
[[nodiscard]] std::unique_ptr<Operation> make_call(const CallSpec& spec, const Topology& topology,
                                                   ManagedBudget& budget);

}  // namespace grainscope::cuda

#endif
