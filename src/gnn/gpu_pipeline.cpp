// Training on one or several GPUs. Two threads of the host enqueue: one what feeds the training, the other
// the training. Of small mini-batches enqueuing is what takes longest, and once a window the first waits for
// the number of rows that sampling came to. Where threads of the host gather, each GPU has a driver for that.
// Of GPUs with a process each, every process has such a pipeline of its own GPU.

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <type_traits>

#include "grainscope/core/sampler.hpp"
#include "grainscope/core/thread_team.hpp"
#include "grainscope/cuda/check.hpp"
#include "grainscope/cuda/device.hpp"
#include "pipelines.hpp"
#include "replica.hpp"

namespace grainscope::gnn {
namespace {

class GpuPipeline final : public Pipeline {
 public:
  GpuPipeline(const TrainingPlan& plan, const FeatureTable& table, const PipelineRequest& request,
              const cuda::Surroundings& surroundings)
      : GpuPipeline(request, plan.seeds.size()) {
    access_ = cuda::reach_each_other(request.gpus);
    replicas_.reserve(request.gpus.size());
    for (std::size_t rank = 0; rank < request.gpus.size(); ++rank) {
      const Replica* const first = rank > 0 ? replicas_.front().get() : nullptr;
      replicas_.push_back(std::make_unique<Replica>(plan, table, request, rank, first, surroundings));
      fellows_.push_back(replicas_.back()->fellow());
    }
    if (gathers_on_host(request.mode) && request.gpus.size() > 1) {
      drivers_.emplace(static_cast<int>(request.gpus.size()), gatherers_cpus());
    }
    make_events();
  }

  // The part of one process of several, on the GPU of its rank. `others`: what they share, in the order of
  // their ranks, this one's own left out.
  GpuPipeline(const TrainingPlan& plan, const FeatureTable& table, const PipelineRequest& request,
              RankTurns& turns, Shared& shared, const std::vector<Fellow>& others)
      : GpuPipeline(request, plan.seeds.size()) {
    turns_ = &turns;
    replicas_.push_back(std::make_unique<Replica>(plan, table, request, turns.rank(), nullptr,
                                                  cuda::Surroundings{}, &shared));
    fellows_ = others;
    fellows_.insert(fellows_.begin() + static_cast<std::ptrdiff_t>(turns.rank()),
                    replicas_.front()->fellow());
    make_events();
  }

  // What is on GPUs goes before the access to it, and each in the reverse order of its beginning.
  ~GpuPipeline() override {
    while (!replicas_.empty()) {
      replicas_.pop_back();
    }
    while (!access_.empty()) {
      access_.pop_back();
    }
  }

  PipelineRun run() override {
    reset();
    meet();
    const double cpu_s = process_cpu_s();
    for_all([](Replica& each) { each.begin(); });
    enqueue_all();
    for_all([](const Replica& each) { each.synchronize(); });
    PipelineRun result;
    result.cpu_s = (process_cpu_s() - cpu_s) / static_cast<double>(windows_ * window_);
    result.losses = losses();
    add_times(result);
    return result;
  }

  StageTimes stages() override {
    reset();
    StageTimes times;
    const Replica& first = *replicas_.front();
    for (std::uint64_t window = 0; window < windows_; ++window) {
      const auto of_one = static_cast<double>(window_);
      times.sample_s.push_back(sample_time_s(window) / of_one);
      for_all([&](Replica& each) { each.wait_sizes(window); });
      times.gather_s.push_back(gather_time_s(window) / of_one);
      for_all([&](Replica& each) { each.check_rows(window); });
      for_all([](const Replica& each) { each.synchronize(); });
      for (std::uint64_t step = window * window_; step < (window + 1) * window_; ++step) {
        meet();
        start_->record(first.training());
        train(step);
        stop_->record(first.training());
        for_all([](const Replica& each) { each.synchronize(); });
        times.train_s.push_back(cuda::elapsed_s(*start_, *stop_));
      }
    }
    for_all([](const Replica& each) { refuse_wrong(each.wrong_elements()); });
    times.losses = losses();
    return times;
  }

  [[nodiscard]] std::uint64_t gpu_bytes() const override {
    std::uint64_t most = 0;
    for (const auto& each : replicas_) {
      most = std::max(most, each->gpu_bytes());
    }
    return most;
  }
  [[nodiscard]] double fill_s() const override {
    double seconds = 0;
    for (const auto& each : replicas_) {
      seconds += each->fill_s();
    }
    return seconds;
  }
  [[nodiscard]] std::uint64_t batches() const override { return windows_ * window_ * replicas_.size(); }
  [[nodiscard]] int gather_sms() const override { return replicas_.front()->gather_sms(); }

 private:
  GpuPipeline(const PipelineRequest& request, std::uint64_t batches)
      : samples_on_host_(!request.lists),
        window_(static_cast<std::uint64_t>(request.window)),
        windows_(batches / (window_ * request.gpus.size())) {}

  void make_events() {
    const cuda::DeviceGuard guard(replicas_.front()->gpu());
    ends_ = std::vector<cuda::Event>(windows_ * window_);
    start_ = std::make_unique<cuda::Event>();
    stop_ = std::make_unique<cuda::Event>();
  }

  // With the other processes, where there are some: what is timed then begins at one moment.
  void meet() { advance(&RankExchange::Rank::met); }
  void advance(RankTurns::Count count) {
    if (turns_ != nullptr) {
      turns_->advance(count);
    }
  }

  // One a GPU; −1 where a GPU's threads are one, which may be anywhere.
  [[nodiscard]] std::vector<int> gatherers_cpus() const {
    std::vector<int> cpus;
    for (const auto& each : replicas_) {
      cpus.push_back(each->gatherers_cpu());
    }
    return cpus;
  }

  template <class Do>
  void for_all(const Do& what) {
    for (const auto& each : replicas_) {
      what(*each);
    }
  }

  void reset() {
    for_all([](Replica& each) {
      each.synchronize();
      each.reset();
    });
  }

  void enqueue_all() {
    Progress fed;
    Progress trained;
    std::array<std::exception_ptr, 2> failures;
    threads_.spread([&](int thread) {
      const bool trains = thread == 0;
      try {
        trains ? train_all(fed, trained) : feed_all(fed, trained);
      } catch (...) {
        failures[static_cast<std::size_t>(thread)] = std::current_exception();
      }
      (trains ? trained : fed).end();
    });
    rethrow_first(failures);
  }

  // A window's lists and rows go where those of an earlier one are: that its training is enqueued, the
  // streams wait for.
  void feed_all(Progress& fed, Progress& trained) {
    const cuda::DeviceGuard guard(replicas_.front()->gpu());
    // Before this thread has a place: the threads that it samples with are not to stay there.
    for_all([](Replica& each) { each.sample(0); });
    const OnCpu placed(replicas_.front()->gatherers_cpu());
    for (std::uint64_t window = 0; window < windows_; ++window) {
      if (window >= Replica::kRowBuffers && !trained.wait_for(window - Replica::kRowBuffers + 1)) {
        return;
      }
      feed(window);
      fed.reach(window + 1);
    }
  }

  void train_all(Progress& fed, Progress& trained) {
    for (std::uint64_t window = 0; window < windows_ && fed.wait_for(window + 1); ++window) {
      for (std::uint64_t step = window * window_; step < (window + 1) * window_; ++step) {
        train(step);
        ends_[step].record(replicas_.front()->training());
      }
      trained.reach(window + 1);
    }
  }

  template <class Failures>
  static void rethrow_first(const Failures& failures) {
    for (const std::exception_ptr& failure : failures) {
      if (failure) {
        std::rethrow_exception(failure);
      }
    }
  }

  // Behind what is enqueued already: the rows of a window, and before them the sampling of the next; where
  // the CPU samples behind them, so that the GPU gathers meanwhile.
  void feed(std::uint64_t window) {
    for_all([&](Replica& each) {
      each.wait_sizes(window);
      if (!samples_on_host_ && window + 1 < windows_) {
        each.sample(window + 1);
      }
    });
    gather(window);
    if (samples_on_host_ && window + 1 < windows_) {
      for_all([&](Replica& each) { each.sample(window + 1); });
    }
  }

  // What each GPU's rows take of the host's time, it takes while the others' do.
  void gather(std::uint64_t window) {
    if (!drivers_) {
      for_all([&](Replica& each) { each.gather(window); });
      return;
    }
    std::vector<std::exception_ptr> failures(replicas_.size());
    drivers_->spread([&](int driver) {
      const auto rank = static_cast<std::size_t>(driver);
      try {
        replicas_[rank]->gather(window);
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
    rethrow_first(failures);
  }

  void train(std::uint64_t step) {
    for_all([&](Replica& each) { each.gradient(step); });
    advance(&RankExchange::Rank::gradients);
    for_all([&](Replica& each) { each.update(step, fellows_); });
    advance(&RankExchange::Rank::updates);
    for_all([&](Replica& each) { each.follow(fellows_); });
  }

  // From before `body` until it records `stop_`, on this stream; then everything is waited for.
  template <class Body>
  double between_events_s(const cuda::Stream& stream, const Body& body) {
    meet();
    start_->record(stream);
    body();
    for_all([](const Replica& each) { each.synchronize(); });
    return cuda::elapsed_s(*start_, *stop_);
  }

  // Of the first GPU's stream, all GPUs at work.
  template <class Do>
  double time_s(const cuda::Stream& stream, const Do& what) {
    return between_events_s(stream, [&] {
      for_all([&](Replica& each) {
        what(each);
        if (&each == replicas_.front().get()) {
          stop_->record(stream);
        }
      });
    });
  }

  // Where the CPU samples, until it has for the last GPU.
  double sample_time_s(std::uint64_t window) {
    const cuda::Stream& stream = replicas_.front()->sampling();
    if (!samples_on_host_) {
      return time_s(stream, [&](Replica& each) { each.sample(window); });
    }
    return between_events_s(stream, [&] {
      for_all([&](Replica& each) { each.sample(window); });
      stop_->record(stream);
    });
  }

  // Where threads gather, until the last GPU's have.
  double gather_time_s(std::uint64_t window) {
    const OnCpu placed(replicas_.front()->gatherers_cpu());
    const cuda::Stream& stream = replicas_.front()->gathering();
    if (!drivers_) {
      return time_s(stream, [&](Replica& each) { each.gather(window); });
    }
    return between_events_s(stream, [&] {
      gather(window);
      stop_->record(stream);
    });
  }

  // Mini-batch `step · GPUs + rank` is a replica's.
  [[nodiscard]] std::vector<double> losses() const {
    const std::uint64_t steps = windows_ * window_;
    std::vector<double> all(steps * replicas_.size());
    for (std::size_t rank = 0; rank < replicas_.size(); ++rank) {
      const std::vector<float> own = replicas_[rank]->losses(steps);
      for (std::uint64_t step = 0; step < steps; ++step) {
        all[step * replicas_.size() + rank] = static_cast<double>(own[step]);
      }
    }
    return all;
  }

  void add_times(PipelineRun& run) const {
    for (std::uint64_t step = kFillingSteps * window_; step < windows_ * window_; ++step) {
      run.single_s.push_back(cuda::elapsed_s(ends_[step - 1], ends_[step]));
    }
    for (std::uint64_t window = kFillingSteps; window < windows_; ++window) {
      run.step_s.push_back(cuda::elapsed_s(ends_[window * window_ - 1], ends_[(window + 1) * window_ - 1]) /
                           static_cast<double>(window_));
    }
    for (const auto& each : replicas_) {
      const std::vector<TimelineLane> lanes = each->lanes(windows_);
      run.timeline.insert(run.timeline.end(), lanes.begin(), lanes.end());
    }
  }

  bool samples_on_host_;
  std::uint64_t window_;
  std::uint64_t windows_;
  std::vector<std::unique_ptr<cuda::PeerAccess>> access_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<Fellow> fellows_;        // by rank
  RankTurns* turns_ = nullptr;         // with other processes
  ThreadTeam threads_{2, {}};          // that enqueue
  std::optional<ThreadTeam> drivers_;  // one a GPU, where threads of the host gather for several
  std::vector<cuda::Event> ends_;      // of each step, on the first GPU
  std::unique_ptr<cuda::Event> start_;
  std::unique_ptr<cuda::Event> stop_;
};

// What a process shares is made before anything of another can be open; the pipeline needs what is.
class CudaTrainingRank final : public TrainingRank {
 public:
  CudaTrainingRank(const TrainingPlan& plan, const PipelineRequest& request, std::size_t rank,
                   RankExchange& exchange)
      : plan_(plan),
        request_(request),
        exchange_(exchange),
        turns_(exchange, rank, request.gpus.size()),
        gpu_(request.gpus[rank]),
        guard_(gpu_),
        table_(make_table(plan, request, gpu_)),
        gradient_(gpu_, plan.request.shape.parameters() * sizeof(float)),
        ready_(cuda::share_event(gpu_)),
        updated_(cuda::share_event(gpu_)) {
    RankExchange::Rank& own = exchange_.ranks[rank];
    TableShape shape;
    shape.by_gpus = Divider(static_cast<std::uint32_t>(request.gpus.size()));
    if (request.store == Store::multi_gpu) {
      shape.spread_rows = hot_rows(table_->vertices(), request.store, request.hot_percent);
    }
    if (shape.spread_rows > 0) {
      const auto at = static_cast<std::uint32_t>(rank);
      part_.emplace(gpu_, std::max<std::uint64_t>(1, shape.spread_rows_of(at)) * table_->row_bytes());
      fill_s_ = fill_part(*table_, shape, at, gpu_, part_->data());
      own.part = part_->handle();
    }
    own.gradient = gradient_.handle();
    own.ready = ready_.handle;
    own.updated = updated_.handle;
  }

  // What is open goes before what is shared: others may still read that, who have given up then.
  ~CudaTrainingRank() override { turns_.give_up(); }

  void open() override {
    Shared shared;
    shared.gradient = reinterpret_cast<float*>(gradient_.data());
    shared.ready = std::move(ready_.event);
    shared.updated = std::move(updated_.event);
    std::vector<Fellow> others;
    events_.reserve(2 * request_.gpus.size());
    for (std::size_t rank = 0; rank < request_.gpus.size(); ++rank) {
      if (rank == turns_.rank()) {
        shared.parts[rank] = part_ ? part_->data() : nullptr;
        continue;
      }
      const RankExchange::Rank& other = exchange_.ranks[rank];
      if (part_) {
        shared.parts[rank] = opened(other.part);
      }
      const auto* const gradient = reinterpret_cast<const float*>(opened(other.gradient));
      events_.push_back(cuda::open_event(gpu_, other.ready));
      events_.push_back(cuda::open_event(gpu_, other.updated));
      others.push_back({gradient, &events_[events_.size() - 2], &events_.back()});
    }
    pipeline_ = std::make_unique<GpuPipeline>(plan_, *table_, request_, turns_, shared, others);
  }

  PipelineRun run() override {
    return with_the_others([&] {
      PipelineRun result = pipeline().run();
      table_->expect_on_host();
      return result;
    });
  }
  StageTimes stages() override {
    return with_the_others([&] { return pipeline().stages(); });
  }
  [[nodiscard]] std::uint64_t gpu_bytes() const override { return pipeline().gpu_bytes(); }
  [[nodiscard]] double fill_s() const override { return fill_s_ + pipeline().fill_s(); }
  [[nodiscard]] std::uint64_t batches() const override { return pipeline().batches(); }
  [[nodiscard]] int gather_sms() const override { return pipeline().gather_sms(); }

 private:
  static std::unique_ptr<FeatureTable> make_table(const TrainingPlan& plan, const PipelineRequest& request,
                                                  int gpu) {
    const graph::Vertex vertices = plan.neighbours.vertices();
    return request.store == Store::pageable
               ? make_pageable_table(vertices, plan.features)
               : make_mapped_table(vertices, plan.features, {.gpu = gpu, .home = request.node});
  }
  const std::byte* opened(const cuda::IpcHandle& handle) {
    opened_.push_back(std::make_unique<cuda::OpenedBuffer>(gpu_, handle));
    return opened_.back()->data();
  }
  [[nodiscard]] GpuPipeline& pipeline() const {
    if (!pipeline_) {
      throw UsageError("training with other processes before what they share is open");
    }
    return *pipeline_;
  }
  template <class Do>
  std::invoke_result_t<const Do&> with_the_others(const Do& what) {
    try {
      return what();
    } catch (...) {
      turns_.give_up();
      throw;
    }
  }

  const TrainingPlan& plan_;
  PipelineRequest request_;
  RankExchange& exchange_;
  RankTurns turns_;
  int gpu_;
  cuda::DeviceGuard guard_;
  std::unique_ptr<FeatureTable> table_;
  cuda::SharedBuffer gradient_;
  cuda::SharedEvent ready_;
  cuda::SharedEvent updated_;
  std::optional<cuda::SharedBuffer> part_;
  double fill_s_ = 0;
  std::vector<std::unique_ptr<cuda::OpenedBuffer>> opened_;
  std::vector<cuda::Event> events_;  // of the others
  std::unique_ptr<GpuPipeline> pipeline_;
};

}  // namespace

std::unique_ptr<TrainingRank> make_training_rank(const TrainingPlan& plan, const PipelineRequest& request,
                                                 std::size_t rank, RankExchange& exchange) {
  require_ranks(request);
  require_plan(plan, nullptr, request);
  return std::make_unique<CudaTrainingRank>(plan, request, rank, exchange);
}

std::unique_ptr<Pipeline> make_gpu_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                            const PipelineRequest& request,
                                            const cuda::Surroundings& surroundings) {
  return std::make_unique<GpuPipeline>(plan, table, request, surroundings);
}

}  // namespace grainscope::gnn
