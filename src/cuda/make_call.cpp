#include "calls.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::cuda {
namespace {

std::unique_ptr<Probe> make_unbound(const CallSpec& spec, const Topology& topology, ManagedBudget& budget) {
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

// What a call costs depends on which CPU makes it: one near the GPU, or one that is not.
class BoundProbe final : public Probe {
 public:
  BoundProbe(const CallSpec& spec, const Topology& topology, ManagedBudget& budget)
      : binding_(topology, spec.node), probe_(make_unbound(spec, topology, budget)) {}

  double sample() override { return probe_->sample(); }
  std::string verify() override { return probe_->verify(); }
  [[nodiscard]] Timing timing() const override { return probe_->timing(); }
  [[nodiscard]] std::uint64_t operations() const override { return probe_->operations(); }

 private:
  NodeBinding binding_;
  std::unique_ptr<Probe> probe_;
};

}  // namespace

std::unique_ptr<Probe> make_call(const CallSpec& spec, const Topology& topology, ManagedBudget& budget) {
  return std::make_unique<BoundProbe>(spec, topology, budget);
}

}  // namespace grainscope::cuda
