#ifndef GRAINSCOPE_SRC_GNN_GPU_GATHER_HPP
#define GRAINSCOPE_SRC_GNN_GPU_GATHER_HPP

// What all gathers into a GPU's memory share: lists, output, a clean cache before and a check behind.

#include <functional>
#include <vector>

#include "gather_parts.hpp"
#include "gpu_tables.hpp"
#include "grainscope/cuda/device.hpp"
#include "grainscope/cuda/gate.hpp"
#include "grainscope/cuda/memory.hpp"

namespace grainscope::gnn {

[[nodiscard]] std::vector<cuda::DeviceBuffer> copy_to_gpu(const RowLists& lists, int gpu);

class GpuGather : public Operation {
 public:
  GpuGather(FeatureStore& store, RowLists lists);

  void prepare() final;
  double run() final;
  void run_counted() final;
  [[nodiscard]] bool reads_managed() const final { return store_.request().store == Store::managed; }
  std::string verify() final;
  void describe(Measurement& measurement) override;

 protected:
  // Makes caches of other GPUs cold; waits for them.
  virtual void prepare_others() {}
  // Seconds of the gather of a list into out().
  [[nodiscard]] virtual double move(std::size_t list) = 0;
  // The same of kernels, without a watch: whether there are any.
  [[nodiscard]] virtual bool issue(std::size_t list) {
    static_cast<void>(list);
    return false;
  }

  [[nodiscard]] FeatureStore& store() const { return store_; }
  [[nodiscard]] int gpu() const { return store_.request().gpu; }
  [[nodiscard]] std::uint64_t count() const { return lists_.front().size(); }
  [[nodiscard]] std::uint64_t row_bytes() const { return store_.shape().row_bytes; }
  [[nodiscard]] const RowLists& lists() const { return lists_; }
  [[nodiscard]] const std::vector<std::uint32_t>& on_host(std::size_t list) const { return lists_[list]; }
  [[nodiscard]] const std::uint32_t* on_gpu(std::size_t list) const {
    return static_cast<const std::uint32_t*>(device_lists_[list].data());
  }
  [[nodiscard]] std::byte* out() const { return rig_.output(); }
  [[nodiscard]] const cuda::Stream& stream() const { return stream_; }
  [[nodiscard]] cuda::GatedStopwatch& stopwatch() { return stopwatch_; }
  // Seconds of `enqueue`'s work between two events, submitted to the idle stream: what no gate may hold back.
  [[nodiscard]] double time_ungated_s(const std::function<void()>& enqueue) const;

 private:
  void check(std::size_t list);

  FeatureStore& store_;
  RowLists lists_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  cuda::GatedStopwatch stopwatch_;
  cuda::Event start_;
  cuda::Event stop_;
  std::vector<cuda::DeviceBuffer> device_lists_;
  cuda::GatherRig rig_;
  std::uint64_t unlike_file_ = 0;           // elements, of rows that are a file's
  std::vector<std::uint64_t> moved_bytes_;  // in each sample, warm-ups among them
};

// naive, circular_shift, masked, vector, address_ordered, graphbolt.
[[nodiscard]] std::unique_ptr<Operation> make_kernel_gather(FeatureStore& store, RowLists lists,
                                                            const GatherRequest& request);
// cpu_gather_dma and row_dma.
[[nodiscard]] std::unique_ptr<Operation> make_staged_gather(FeatureStore& store, RowLists lists,
                                                            const GatherRequest& request);
[[nodiscard]] std::unique_ptr<Operation> make_row_dma(FeatureStore& store, RowLists lists);

}  // namespace grainscope::gnn

#endif
