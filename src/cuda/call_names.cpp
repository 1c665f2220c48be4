#include "grainscope/cuda/probe.hpp"

namespace grainscope::cuda {

const char* name(Call call) {
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
  }
  return "unknown";
}

}  // namespace grainscope::cuda
