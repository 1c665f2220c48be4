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
        out_(store.request().gpu, request.outputs() * store.shape().row_bytes),
        evictor_(store.request().gpu, evictor_bytes(store.request().gpu)),
        first_wrong_(store.request().gpu, sizeof(unsigned long long)),
        pool_(bag_function(store.view(), store.request().gpu)) {
    cuda::check(cudaMemset(first_wrong_.data(), 0xff, first_wrong_.bytes()), "clear a check's result");
  }

  double run() override {
    constexpr int kOther = 0xa5;
    const std::size_t list = samples_++ % lists_.size();
    const BagLists lists{static_cast<const std::uint32_t*>(lists_[list].data()), request_.outputs(),
                         request_.pooling, static_cast<float*>(out_.data())};
    store_.make_cold();
    cuda::check(cudaMemsetAsync(out_.data(), kOther, out_.bytes(), stream_.get()), "overwrite an output");
    cuda::check(cudaMemsetAsync(evictor_.data(), 0, evictor_.bytes(), stream_.get()),
                "overwrite the GPU's cache");
    const double seconds = stopwatch_.time_s(stream_, [&] { pool_(lists, stream_.get()); });
    check_bags(lists, store_.shape(), first_wrong_.data(), stream_.get());
    return seconds;
  }

  std::string verify() override {
    stream_.synchronize();
    unsigned long long first = 0;
    cuda::check(cudaMemcpy(&first, first_wrong_.data(), sizeof(first), cudaMemcpyDeviceToHost),
                "read a check's result");
    if (samples_ == 0) {
      throw FailedError("wrong result: no bags were pooled");
    }
    if (first != ~0ULL) {
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
    std::vector<float> elements(out_.bytes() / sizeof(float));
    cuda::check(cudaMemcpy(elements.data(), out_.data(), out_.bytes(), cudaMemcpyDeviceToHost),
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
  cuda::DeviceBuffer out_;
  cuda::DeviceBuffer evictor_;
  cuda::DeviceBuffer first_wrong_;  // u64
  std::function<void(const BagLists&, cudaStream_t)> pool_;
  std::uint64_t samples_ = 0;
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
