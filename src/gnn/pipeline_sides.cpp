// The two processes of a training: one samples and gathers, the other trains.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "gpu_tables.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/core/sampler.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/memory.hpp"
#include "grainscope/gnn/cuda_sage.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "lists_layout.hpp"
#include "pipelines.hpp"
#include "replica.hpp"
#include "sage_kernels.hpp"

namespace grainscope::gnn {
namespace {

class CudaGatheringSide final : public GatheringSide, private GatheringSteps {
 public:
  CudaGatheringSide(const TrainingPlan& plan, const FeatureTable& table, const PipelineRequest& request,
                    Exchange& exchange)
      : plan_(plan),
        exchange_(exchange),
        gpu_(request.gpus.front()),
        hops_(plan.request.sample.fanouts.size()),
        guard_(gpu_),
        layout_(plan),
        shared_(gpu_, layout_.bytes()),
        table_(table, request.store, request.hot_percent, gpu_),
        lists_(place_lists(plan.neighbours, {ListPlacement::device, gpu_, {}})),
        sampler_(make_gpu_sampler(*lists_, plan.request.sample, plan.seeds.front().size())),
        producer_(make_producer(table_.view(), request, gpu_, cuda::sm_count(gpu_), most_nodes())),
        wrong_(gpu_, sizeof(unsigned long long)),
        sizes_(kListSets * numbers() * sizeof(std::uint64_t), cuda::PinnedBuffer::Kind::cached),
        begun_(plan.seeds.size()),
        ended_(plan.seeds.size()) {
    for (std::uint64_t set = 0; set < kListSets; ++set) {
      sampled_[set] = sampler_->make_batch_in(layout_.lists_of(shared_.data(), set));
    }
    cuda::check(cudaMemset(wrong_.data(), 0, wrong_.bytes()), "clear a check's result");
    cuda::check(cudaDeviceSynchronize(), "prepare a GPU for gathering");
    exchange_.memory = shared_.handle();
  }

  ~CudaGatheringSide() override {
    // What is still on the GPU reads what is about to go.
    static_cast<void>(cudaDeviceSynchronize());
  }

  Stage stage(std::uint64_t batch) override {
    Stage times;
    start_.record(sampling_);
    sample(batch);
    stop_.record(sampling_);
    sampling_.synchronize();
    times.sample_s = cuda::elapsed_s(start_, stop_);
    gather(batch);
    gathering_.synchronize();
    times.gather_s = cuda::elapsed_s(begun_[batch], ended_[batch]);
    refuse_wrong(wrong_elements(batch));
    return times;
  }

  Run run() override {
    Run result;
    const double cpu_s = process_cpu_s();
    gather_in_turn(exchange_, plan_.seeds.size(), *this);
    result.cpu_s = process_cpu_s() - cpu_s;
    for (std::size_t batch = 0; batch < begun_.size(); ++batch) {
      result.gather_s.push_back(cuda::elapsed_s(begun_[batch], ended_[batch]));
    }
    return result;
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    return shared_.bytes() + table_.gpu_bytes() + lists_->gpu_bytes() + sampler_->gpu_bytes() +
           producer_->gpu_bytes();
  }

 private:
  void sample(std::uint64_t batch) override {
    GpuMiniBatch& into = *sampled_[batch % kListSets];
    sampler_->enqueue(plan_.seeds[batch], batch, into, sampling_.get());
    const DeviceMiniBatch& view = into.view();
    SizeSources sources;
    sources.nodes_upto = view.nodes_upto;
    sources.hops = static_cast<int>(hops_);
    std::transform(view.layers.begin(), view.layers.end(), sources.offsets,
                   [](const DeviceLayer& layer) { return layer.offsets; });
    report_sizes(sources, static_cast<std::uint64_t*>(sizes_.device_data()) + place(batch), sampling_.get());
    drawn_[batch % kListSets].record(sampling_);
  }

  bool sampled(std::uint64_t batch) override { return drawn_[batch % kListSets].done(); }

  // The host has seen the sampling end: the kernel need not wait for it.
  void gather(std::uint64_t batch) override {
    const std::uint64_t* const told = static_cast<const std::uint64_t*>(sizes_.data()) + place(batch);
    if (told[hops_] > most_nodes()) {
      throw FailedError("wrong result: a mini-batch sampled on GPU " + std::to_string(gpu_) +
                        " says that it has more nodes than there is room for");
    }
    std::copy_n(told, numbers(), exchange_.sizes_of(batch).begin());
    begun_[batch].record(gathering_);
    producer_->enqueue(nodes(batch), told[hops_], layout_.rows_of(shared_.data(), batch), gathering_);
    ended_[batch].record(gathering_);
  }

  bool gathered(std::uint64_t batch) override { return ended_[batch].done(); }

  // Of a mini-batch that was gathered and is not yet overwritten; waits.
  [[nodiscard]] std::uint64_t wrong_elements(std::uint64_t batch) {
    count_wrong(reinterpret_cast<const float*>(layout_.rows_of(shared_.data(), batch)), nodes(batch),
                exchange_.sizes_of(batch)[hops_], plan_.request.shape.features, kFeatureSeed,
                static_cast<unsigned long long*>(wrong_.data()), gathering_.get());
    gathering_.synchronize();
    unsigned long long wrong = 0;
    cuda::check(cudaMemcpy(&wrong, wrong_.data(), sizeof(wrong), cudaMemcpyDeviceToHost),
                "read a check's result");
    return wrong;
  }

  [[nodiscard]] const graph::Vertex* nodes(std::uint64_t batch) const {
    return sampled_[batch % kListSets]->view().nodes;
  }
  [[nodiscard]] std::uint64_t most_nodes() const { return layout_.lists().most().nodes.back(); }
  [[nodiscard]] std::uint64_t numbers() const { return 2 * hops_ + 1; }  // of a mini-batch's sizes
  [[nodiscard]] std::uint64_t place(std::uint64_t batch) const { return batch % kListSets * numbers(); }

  const TrainingPlan& plan_;
  Exchange& exchange_;
  int gpu_;
  std::uint64_t hops_;
  cuda::DeviceGuard guard_;
  SharedLayout layout_;
  cuda::SharedBuffer shared_;
  PlacedTable table_;
  std::unique_ptr<PlacedLists> lists_;
  std::unique_ptr<GpuSampler> sampler_;
  std::unique_ptr<Producer> producer_;
  cuda::DeviceBuffer wrong_;  // u64
  cuda::PinnedBuffer sizes_;  // u64[kListSets][2 hops + 1]
  std::array<std::unique_ptr<GpuMiniBatch>, kListSets> sampled_;
  std::array<cuda::Event, kListSets> drawn_;
  std::vector<cuda::Event> begun_;  // of each gather
  std::vector<cuda::Event> ended_;
  cuda::Stream sampling_;
  cuda::Stream gathering_;
  cuda::Event start_;
  cuda::Event stop_;
};

}  // namespace

std::unique_ptr<GatheringSide> make_gathering_side(const TrainingPlan& plan, const FeatureTable& table,
                                                   const PipelineRequest& request, Exchange& exchange) {
  require_processes(request);
  require_plan(plan, &table, request);
  return std::make_unique<CudaGatheringSide>(plan, table, request, exchange);
}

// The process that trains.

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
