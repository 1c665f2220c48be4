#include <cuda_runtime_api.h>

#include <string>

#include "bag_kernels.hpp"
#include "gpu_gather.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"

namespace grainscope::gnn {
namespace {

class CudaBagLookup final : public BagLookup {
 public:
  CudaBagLookup(FeatureStore& store, const RowLists& lists, const BagRequest& request)
      : store_(store),
        request_(request),
        guard_(store.request().gpu),
        lists_(copy_to_gpu(lists, store.request().gpu)),
        rig_(store.request().gpu, lists.size(), request.outputs() * store.shape().row_bytes,
             cuda::GatherRig::Word::lowest),
        pool_(bag_function(store.view(), store.request().gpu)) {}

  void prepare() override {
    store_.make_cold();
    rig_.make_cold(stream_);
  }

  double run() override {
    const BagLists lists{static_cast<const std::uint32_t*>(lists_[rig_.next_list()].data()),
                         request_.outputs(), request_.pooling, reinterpret_cast<float*>(rig_.output())};
    const double seconds = stopwatch_.time_s(stream_, [&] { pool_(lists, stream_.get()); });
    check_bags(lists, store_.shape(), rig_.word(), stream_.get());
    return seconds;
  }

  std::string verify() override {
    const std::uint64_t first = rig_.found(stream_, "no bags were pooled");
    if (first != cuda::GatherRig::kNothingWrong) {
      const std::uint64_t elements = store_.shape().row_bytes / sizeof(float);
      throw FailedError("wrong result: element " + std::to_string(first % elements) + " of bag " +
                        std::to_string(first / elements) + " is not the sum of its rows");
    }
    return "every element of every sample's output against the table's closed form";
  }

  [[nodiscard]] Timing timing() const override {
    return {Clock::event, true, "one kernel between two events"};
  }

  [[nodiscard]] std::vector<float> output() const override {
    stream_.synchronize();
    std::vector<float> elements(rig_.output_bytes() / sizeof(float));
    cuda::check(cudaMemcpy(elements.data(), rig_.output(), rig_.output_bytes(), cudaMemcpyDeviceToHost),
                "read an output");
    return elements;
  }

 private:
  FeatureStore& store_;
  BagRequest request_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::GatedStopwatch stopwatch_;
  std::vector<cuda::DeviceBuffer> lists_;
  cuda::GatherRig rig_;
  std::function<void(const BagLists&, cudaStream_t)> pool_;
};

}  // namespace

std::unique_ptr<BagLookup> make_bag_lookup(FeatureStore& store, const RowLists& lists,
                                           const BagRequest& request) {
  require_possible(store, lists, {Mode::masked, 16, 0, 1});
  if (lists.front().size() != request.lookups()) {
    throw UsageError("a batch of bags asks for " + std::to_string(request.lookups()) + " rows, not for " +
                     std::to_string(lists.front().size()));
  }
  return std::make_unique<CudaBagLookup>(store, lists, request);
}

}  // namespace grainscope::gnn
