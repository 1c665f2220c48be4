// The process that trains.

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>

#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/pipeline_sides.hpp"
#include "pipelines.hpp"
#include "shared_layout.hpp"

namespace grainscope::gnn {
namespace {

class CudaTrainingSide final : public TrainingSide, private TrainingSteps {
 public:
  CudaTrainingSide(const TrainingPlan& plan, int gpu, Exchange& exchange)
      : plan_(plan),
        exchange_(exchange),
        gpu_(gpu),
        hops_(plan.request.sample.fanouts.size()),
        guard_(gpu),
        layout_(plan),
        model_(gpu, plan.request.shape, layout_.lists().most(), plan.seeds.size()),
        labels_(gpu, plan.labels.size() * sizeof(std::uint16_t)),
        begun_(plan.seeds.size()),
        ended_(plan.seeds.size()) {
    cuda::check(cudaMemcpy(labels_.data(), plan.labels.data(), labels_.bytes(), cudaMemcpyHostToDevice),
                "copy labels to the GPU");
    reset();
  }

  ~CudaTrainingSide() override {
    // What is still on the GPU reads what is about to go.
    static_cast<void>(cudaDeviceSynchronize());
  }

  void open() override {
    shared_.emplace(gpu_, exchange_.memory);
    for (std::uint64_t set = 0; set < kListSets; ++set) {
      sampled_[set] = layout_.lists().view(layout_.lists_of(shared_->data(), set));
    }
  }

  void reset() override {
    model_.reset(plan_.parameters);
    cuda::check(cudaDeviceSynchronize(), "prepare a GPU for training");
  }

  double stage(std::uint64_t batch) override {
    train(batch);
    training_.synchronize();
    return cuda::elapsed_s(begun_[batch], ended_[batch]);
  }

  Run run() override {
    require_open();
    Run result;
    const double cpu_s = process_cpu_s();
    train_in_turn(exchange_, plan_.seeds.size(), *this);
    result.cpu_s = process_cpu_s() - cpu_s;
    for (std::size_t batch = 0; batch < ended_.size(); ++batch) {
      result.train_s.push_back(cuda::elapsed_s(begun_[batch], ended_[batch]));
      if (batch >= kFillingSteps) {
        result.step_s.push_back(cuda::elapsed_s(ended_[batch - 1], ended_[batch]));
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<float> losses() const override { return model_.losses(plan_.seeds.size()); }

  [[nodiscard]] std::uint64_t gpu_bytes() const override { return model_.gpu_bytes() + labels_.bytes(); }

 private:
  void require_open() const {
    if (!shared_) {
      throw UsageError("training on rows of another process that were not opened");
    }
  }

  // Lists, rows and sizes are there, on the GPU and in the exchange: the other process has seen them end.
  void train(std::uint64_t batch) override {
    require_open();
    const Exchange::Sizes& sizes = exchange_.sizes_of(batch);
    const auto hops = static_cast<std::ptrdiff_t>(hops_);
    SageBatch step;
    step.sampled = &sampled_[batch % kListSets];
    step.nodes_upto.assign(sizes.begin(), sizes.begin() + hops + 1);
    step.edges.assign(sizes.begin() + hops + 1, sizes.begin() + 2 * hops + 1);
    step.rows = reinterpret_cast<const float*>(layout_.rows_of(shared_->data(), batch));
    step.labels = static_cast<const std::uint16_t*>(labels_.data());
    begun_[batch].record(training_);
    model_.enqueue_gradient(step, batch, training_);
    const float* const gradients[] = {model_.gradient()};
    model_.enqueue_update(plan_.request.rate, gradients, training_);
    ended_[batch].record(training_);
  }

  bool trained(std::uint64_t batch) override { return ended_[batch].done(); }

  const TrainingPlan& plan_;
  Exchange& exchange_;
  int gpu_;
  std::uint64_t hops_;
  cuda::DeviceGuard guard_;
  SharedLayout layout_;
  std::optional<cuda::OpenedBuffer> shared_;
  std::array<DeviceMiniBatch, kListSets> sampled_;
  CudaSage model_;
  cuda::DeviceBuffer labels_;
  std::vector<cuda::Event> begun_;  // of each step
  std::vector<cuda::Event> ended_;
  cuda::Stream training_;
};

}  // namespace

std::unique_ptr<TrainingSide> make_training_side(const TrainingPlan& plan, int gpu, Exchange& exchange) {
  require_plan(plan, nullptr, {});
  return std::make_unique<CudaTrainingSide>(plan, gpu, exchange);
}

}  // namespace grainscope::gnn
