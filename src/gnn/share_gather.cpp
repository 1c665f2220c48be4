// The gathering side of a shared GPU.

#include <cuda_runtime_api.h>

#include <utility>

#include "gathers.hpp"
#include "gpu_gather.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/gnn/gather_kernel.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {
namespace {

class GatherWork final : public ShareWork {
 public:
  GatherWork(FeatureStore& store, RowLists lists, std::uint32_t width, const cuda::SmPartition& part)
      : store_(store),
        guard_(gpu()),
        stream_(part.stream()),
        lists_(copy_to_gpu(lists, gpu())),
        rows_(lists.front().size()),
        rig_(gpu(), lists.size(), rows_ * store.shape().row_bytes, cuda::GatherRig::Word::lowest),
        kernel_(store.view(), Mode::masked, width, gpu(), 0, part.given_sms()) {}

  void prepare() override { rig_.make_cold(stream_); }

  void enqueue() override {
    list_ = rig_.next_list();
    kernel_.launch({rows_of_list(), nullptr, rows_, rig_.output()}, stream_);
  }

  void check() override {
    check_rows(rig_.output(), rows_of_list(), rows_, store_.shape(), rig_.word(), stream_);
  }

  std::string verify() override {
    require_rows_right(rig_, stream_);
    return "every byte of every sample's output against the table's closed form";
  }

  [[nodiscard]] const cuda::Stream& stream() const override { return stream_; }
  [[nodiscard]] int gpu() const override { return store_.request().gpu; }
  [[nodiscard]] int blocks() const override { return kernel_.most_blocks(); }

 private:
  [[nodiscard]] const std::uint32_t* rows_of_list() const {
    return static_cast<const std::uint32_t*>(lists_[list_].data());
  }

  FeatureStore& store_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  std::vector<cuda::DeviceBuffer> lists_;
  std::uint64_t rows_;
  cuda::GatherRig rig_;
  GatherKernel kernel_;
  std::size_t list_ = 0;
};

}  // namespace

std::unique_ptr<ShareWork> make_gather_work(FeatureStore& store, RowLists lists, std::uint32_t width,
                                            const cuda::SmPartition& part) {
  require_possible(store, lists, {Mode::masked, width});
  return std::make_unique<GatherWork>(store, std::move(lists), width, part);
}

}  // namespace grainscope::gnn
