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
#include "grainscope/cuda/mapped.hpp"
#include "grainscope/system/host_memory.hpp"
#include "grainscope/system/topology.hpp"

namespace grainscope::cuda {

class ManagedBudget;

// A walk along a chain of pointers by one thread of a GPU.
struct ChaseSpec {
  enum class To { host_memory, peer_memory, own_memory };
  To to = To::host_memory;
  int gpu = 0;                                 // walks
  int node = 0;                                // of the host memory
  MemoryKind memory = MemoryKind::host_alloc;  // of the host
  int peer = 0;                                // of the peer memory
  std::uint64_t bytes = 0;                     // of the chain: a power of two
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
  take_mapped,       // memory that a GPU reads in place, until it may (cuda/mapped.hpp)
  give_back_mapped,  // the same memory, all of it in use before
  fork_with_mapped,  // fork() of the process that holds it
};
inline constexpr Call kLastCall = Call::fork_with_mapped;
[[nodiscard]] constexpr const char* name(Call call) {
  switch (call) {
    case Call::launch:
      return "launch";
    case Call::launch_with_arguments:
      return "launch_with_arguments";
    case Call::launch_by_threads:
      return "launch_by_threads";
    case Call::launch_and_wait:
      return "launch_and_wait";
    case Call::stream_synchronize:
      return "stream_synchronize";
    case Call::device_synchronize:
      return "device_synchronize";
    case Call::device_synchronize_by_threads:
      return "device_synchronize_by_threads";
    case Call::event_record:
      return "event_record";
    case Call::event_synchronize:
      return "event_synchronize";
    case Call::stream_wait_event:
      return "stream_wait_event";
    case Call::graph_instantiate:
      return "graph_instantiate";
    case Call::graph_launch:
      return "graph_launch";
    case Call::graph_instantiate_copies:
      return "graph_instantiate_copies";
    case Call::graph_launch_copies:
      return "graph_launch_copies";
    case Call::graph_launch_copies_3d:
      return "graph_launch_copies_3d";
    case Call::malloc:
      return "malloc";
    case Call::free:
      return "free";
    case Call::malloc_async:
      return "malloc_async";
    case Call::free_async:
      return "free_async";
    case Call::host_alloc:
      return "host_alloc";
    case Call::host_free:
      return "host_free";
    case Call::host_register:
      return "host_register";
    case Call::host_unregister:
      return "host_unregister";
    case Call::malloc_managed:
      return "malloc_managed";
    case Call::managed_free:
      return "managed_free";
    case Call::managed_first_touch:
      return "managed_first_touch";
    case Call::managed_first_touch_by_host:
      return "managed_first_touch_by_host";
    case Call::take_mapped:
      return "take_mapped";
    case Call::give_back_mapped:
      return "give_back_mapped";
    case Call::fork_with_mapped:
      return "fork_with_mapped";
  }
  return "unknown";
}

struct CallSpec {
  Call what = Call::launch;
  int gpu = 0;
  int node = 0;                                // of the CPU that calls, and of host memory
  std::uint64_t bytes = 0;                     // of calls that take or give memory
  PageKind pages = PageKind::base;             // of memory that is registered
  MemoryKind memory = MemoryKind::host_alloc;  // of calls of mapped memory; not a peer's
  int graph_nodes = 0;                         // of calls on graphs
  int argument_bytes = 0;                      // of a launch with arguments: 64, 1024 or 4096
  int threads = 1;                             // that call at once, of calls by threads
};

// Allocate and initialise. SkipError where this machine cannot, EnvironmentError or FailedError where
// something that should work does not; in a build without CUDA always SkipError.
[[nodiscard]] std::unique_ptr<Operation> make_chase(const ChaseSpec& spec, const Surroundings& surroundings);
[[nodiscard]] std::unique_ptr<Operation> make_flag(const FlagSpec& spec, const Topology& topology);
[[nodiscard]] std::unique_ptr<Operation> make_managed_touch(const TouchSpec& spec, const Topology& topology,
                                                            ManagedBudget& budget);
[[nodiscard]] std::unique_ptr<Operation> make_call(const CallSpec& spec, const Topology& topology,
                                                   ManagedBudget& budget);

}  // namespace grainscope::cuda

#endif
