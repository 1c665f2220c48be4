#ifndef GRAINSCOPE_SRC_CUDA_CALLS_HPP
#define GRAINSCOPE_SRC_CUDA_CALLS_HPP

// What the probes of calls share.

#include <cuda_runtime_api.h>

#include <memory>
#include <string_view>
#include <utility>

#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/budget.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/probe.hpp"
#include "grainscope/system/numa.hpp"

namespace grainscope::cuda {

// A call, made by the CPUs of one node: what it costs depends on whether they are near the GPU.
class CallProbe : public Operation {
 public:
  // For as long as it lives.
  void keep(std::unique_ptr<NodeBinding> binding) { binding_ = std::move(binding); }
  [[nodiscard]] bool on_callers_thread() const override { return true; }

 private:
  std::unique_ptr<NodeBinding> binding_;
};

// Seconds on the steady clock for call(0) … call(count − 1), each of which gives a status; nothing but the
// calls is in them. Throws FailedError for one that failed.
template <class Call>
[[nodiscard]] double time_calls(int count, std::string_view tried, Call call) {
  cudaError_t failed = cudaSuccess;
  const double start_s = steady_now_s();
  for (int i = 0; i < count; ++i) {
    const cudaError_t status = call(i);
    failed = status == cudaSuccess ? failed : status;
  }
  const double seconds = steady_now_s() - start_s;
  check(failed, tried);
  return seconds;
}

// The probes of a call, by what it is about. The calling thread is bound to the node.
[[nodiscard]] std::unique_ptr<CallProbe> make_submission_call(const CallSpec& spec);
[[nodiscard]] std::unique_ptr<CallProbe> make_threaded_call(const CallSpec& spec);
[[nodiscard]] std::unique_ptr<CallProbe> make_graph_call(const CallSpec& spec);
[[nodiscard]] std::unique_ptr<CallProbe> make_memory_call(const CallSpec& spec, const Topology& topology,
                                                          ManagedBudget& budget);
[[nodiscard]] std::unique_ptr<CallProbe> make_pool_call(const CallSpec& spec);
[[nodiscard]] std::unique_ptr<CallProbe> make_first_touch_call(const CallSpec& spec, ManagedBudget& budget);
[[nodiscard]] std::unique_ptr<CallProbe> make_mapped_call(const CallSpec& spec, const Topology& topology,
                                                          ManagedBudget& budget);

}  // namespace grainscope::cuda

#endif
