// The training side of a shared GPU: real steps on a mini-batch that lies there already.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "grainscope/core/error.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "lists_layout.hpp"

namespace grainscope::gnn {
namespace {

template <class T>
void send(void* to, const std::vector<T>& values) {
  cuda::check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              "copy a mini-batch to the GPU");
}

MostOf sizes_of(const MiniBatch& batch) {
  MostOf sizes;
  sizes.nodes.assign(batch.nodes_upto.begin(), batch.nodes_upto.end());
  std::transform(batch.layers.begin(), batch.layers.end(), std::back_inserter(sizes.edges),
                 [](const Layer& layer) { return layer.sources.size(); });
  return sizes;
}

class StepWork final : public ShareWork {
 public:
  StepWork(int gpu, const FixedBatch& batch, int steps, const cuda::SmPartition& part)
      : gpu_(gpu),
        steps_(steps),
        plan_(batch.plan),
        guard_(gpu),
        stream_(part.stream()),
        layout_(sizes_of(batch.sampled)),
        lists_(gpu, layout_.bytes()),
        rows_(gpu, batch.rows.size() * sizeof(float)),
        labels_(gpu, batch.plan.labels.size() * sizeof(std::uint16_t)),
        model_(gpu, batch.plan.request.shape, layout_.most(), static_cast<std::uint64_t>(steps)) {
    send_batch(batch);
    // The first run is also what loads all kernels before a gate closes.
    prepare();
    enqueue();
    stream_.synchronize();
    losses_ = losses();
    parameters_ = model_.parameters();
    require_near(batch.losses);
  }

  void prepare() override {
    model_.reset(plan_.parameters);
    cuda::check(cudaDeviceSynchronize(), "begin training anew");
  }

  void enqueue() override {
    const float* const gradients[] = {model_.gradient()};
    for (int step = 0; step < steps_; ++step) {
      model_.enqueue_gradient(batch_, static_cast<std::uint64_t>(step), stream_);
      model_.enqueue_update(plan_.request.rate, gradients, stream_);
    }
  }

  // A sample that did nothing leaves the first parameters.
  void check() override {
    stream_.synchronize();
    ++checks_;
    if (losses() != losses_ || model_.parameters() != parameters_) {
      ++wrong_;
    }
  }

  std::string verify() override {
    if (wrong_ != 0 || checks_ == 0) {
      throw FailedError(checks_ == 0
                            ? std::string("wrong result: no step was trained")
                            : "wrong result: " + std::to_string(wrong_) + " of " + std::to_string(checks_) +
                                  " samples have other losses or parameters than the first run");
    }
    return "losses of the first steps against double precision within 2e-5, losses and parameters of every "
           "sample the same bit for bit";
  }

  [[nodiscard]] const cuda::Stream& stream() const override { return stream_; }
  [[nodiscard]] int gpu() const override { return gpu_; }
  [[nodiscard]] int blocks() const override { return 0; }

 private:
  void send_batch(const FixedBatch& batch) {
    auto* const memory = static_cast<std::byte*>(lists_.data());
    send(layout_.nodes(memory), batch.sampled.nodes);
    send(layout_.nodes_upto(memory), batch.sampled.nodes_upto);
    for (std::size_t hop = 0; hop < batch.sampled.layers.size(); ++hop) {
      send(layout_.offsets(memory, hop), batch.sampled.layers[hop].offsets);
      send(layout_.sources(memory, hop), batch.sampled.layers[hop].sources);
    }
    send(rows_.data(), batch.rows);
    send(labels_.data(), batch.plan.labels);
    view_ = layout_.view(memory);
    batch_ = {&view_, batch.sampled.nodes_upto, layout_.most().edges, static_cast<const float*>(rows_.data()),
              static_cast<const std::uint16_t*>(labels_.data())};
  }

  [[nodiscard]] std::vector<float> losses() const {
    return model_.losses(static_cast<std::uint64_t>(steps_));
  }

  // float32 rounds by 6e-8; a loss is a sum over some thousand terms, and three steps carry their rounding
  // on.
  void require_near(const std::vector<double>& expected) const {
    constexpr double kTolerance = 2e-5;
    for (std::size_t step = 0; step < std::min(expected.size(), losses_.size()); ++step) {
      if (!(std::abs(static_cast<double>(losses_[step]) - expected[step]) <=
            kTolerance * std::abs(expected[step]))) {
        throw FailedError("wrong result: the loss of step " + std::to_string(step) + " is " +
                          std::to_string(losses_[step]) + ", not " + std::to_string(expected[step]) +
                          " as in double precision");
      }
    }
  }

  int gpu_;
  int steps_;
  const TrainingPlan& plan_;
  cuda::DeviceGuard guard_;
  cuda::Stream stream_;
  ListsLayout layout_;
  cuda::DeviceBuffer lists_;
  cuda::DeviceBuffer rows_;
  cuda::DeviceBuffer labels_;
  CudaSage model_;
  DeviceMiniBatch view_;
  SageBatch batch_;
  std::vector<float> losses_;  // of the first run, what every sample must give
  std::vector<float> parameters_;
  int checks_ = 0;
  int wrong_ = 0;
};

}  // namespace

std::unique_ptr<ShareWork> make_step_work(int gpu, const FixedBatch& batch, int steps,
                                          const cuda::SmPartition& part) {
  if (steps < 1 || steps > kMostSteps) {
    throw UsageError("a GPU that trains takes 1 to " + std::to_string(kMostSteps) + " steps, not " +
                     std::to_string(steps));
  }
  return std::make_unique<StepWork>(gpu, batch, steps, part);
}

}  // namespace grainscope::gnn
