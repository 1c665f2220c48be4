#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::cuda {
namespace {

std::unique_ptr<CallProbe> make_unbound(const CallSpec& spec, const Topology& topology,
                                        ManagedBudget& budget) {
  switch (spec.what) {
    case Call::launch:
    case Call::launch_with_arguments:
    case Call::launch_and_wait:
    case Call::stream_synchronize:
    case Call::device_synchronize:
    case Call::event_record:
    case Call::event_synchronize:
    case Call::stream_wait_event:
      return make_submission_call(spec);
    case Call::launch_by_threads:
    case Call::device_synchronize_by_threads:
      return make_threaded_call(spec);
    case Call::graph_instantiate:
    case Call::graph_launch:
    case Call::graph_instantiate_copies:
    case Call::graph_launch_copies:
    case Call::graph_launch_copies_3d:
      return make_graph_call(spec);
    case Call::malloc:
    case Call::free:
    case Call::host_alloc:
    case Call::host_free:
    case Call::host_register:
    case Call::host_unregister:
    case Call::malloc_managed:
    case Call::managed_free:
      return make_memory_call(spec, topology, budget);
    case Call::malloc_async:
    case Call::free_async:
      return make_pool_call(spec);
    case Call::managed_first_touch:
    case Call::managed_first_touch_by_host:
      return make_first_touch_call(spec, budget);
  }
  throw UsageError("there is no such call");
}

}  // namespace

std::unique_ptr<Operation> make_call(const CallSpec& spec, const Topology& topology, ManagedBudget& budget) {
  auto binding = std::make_unique<NodeBinding>(topology, spec.node);
  auto call = make_unbound(spec, topology, budget);
  call->keep(std::move(binding));
  return call;
}

}  // namespace grainscope::cuda
