// Gathers by kernels: the sort, where the mode has one, and the kernel, between two events behind a gate.

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_gather.hpp"
#include "grainscope/gnn/gather_kernel.hpp"

namespace grainscope::gnn {
namespace {

class KernelGather final : public GpuGather {
 public:
  KernelGather(FeatureStore& store, RowLists lists, const GatherRequest& request)
      : GpuGather(store, std::move(lists)),
        kernel_(store.view(), request.mode, request.width, gpu(), request.blocks) {
    if (sorts(request.mode)) {
      order_ = std::make_unique<AddressOrder>(gpu(), count(), store.shape().rows);
    }
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true,
            order_ != nullptr ? "a sort of the rows and one kernel between two events"
                              : "one kernel between two events"};
  }

  void describe(Measurement& measurement) override {
    GpuGather::describe(measurement);
    if (order_ == nullptr) {
      return;
    }
    std::array<double, 9> seconds{};
    for (double& each : seconds) {
      each = stopwatch().time_s(
          stream(), [&] { static_cast<void>(order_->sort(on_gpu(0), count(), out(), stream())); });
    }
    std::sort(seconds.begin(), seconds.end());
    measurement.counters["sort_s"] = seconds[seconds.size() / 2];
  }

 protected:
  double move(std::size_t list) override {
    return stopwatch().time_s(stream(), [&] { static_cast<void>(issue(list)); });
  }
  bool issue(std::size_t list) override {
    kernel_.launch(order_ != nullptr ? order_->sort(on_gpu(list), count(), out(), stream())
                                     : GatherLists{on_gpu(list), nullptr, count(), out()},
                   stream());
    return true;
  }

 private:
  GatherKernel kernel_;
  std::unique_ptr<AddressOrder> order_;
};

}  // namespace

std::unique_ptr<Operation> make_kernel_gather(FeatureStore& store, RowLists lists,
                                              const GatherRequest& request) {
  return std::make_unique<KernelGather>(store, std::move(lists), request);
}

}  // namespace grainscope::gnn
