#ifndef GRAINSCOPE_SRC_GNN_PIPELINES_HPP
#define GRAINSCOPE_SRC_GNN_PIPELINES_HPP

// What pipelines on a CPU and on GPUs share.

#include <atomic>
#include <cstdint>

#include "grainscope/gnn/pipeline.hpp"

// What pipelines on a CPU and on GPUs share.

namespace grainscope::gnn {

// Windows whose end comes before the pipeline is full.
inline constexpr std::size_t kFillingSteps = 1;

// Throws FailedError unless `wrong` is 0.
void refuse_wrong(std::uint64_t wrong);

// Throws UsageError where a table (null: none is needed) does not fit the plan, or the plan has not three
// windows.
void require_plan(const TrainingPlan& plan, const FeatureTable* table, const PipelineRequest& request);

[[nodiscard]] std::unique_ptr<Pipeline> make_host_pipeline(const TrainingPlan& plan,
                                                           const FeatureTable& table, Products products);
// Of all modes but cpu_gather; SkipError without CUDA.
[[nodiscard]] std::unique_ptr<Pipeline> make_gpu_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                                          const PipelineRequest& request,
                                                          const cuda::Surroundings& surroundings);

// How far one thread has come, for another that waits for it.
class Progress {
 public:
  // Of the one thread: `steps` are done, no fewer than before.
  void reach(std::uint64_t steps) {
    steps_.store(steps, std::memory_order_release);
    steps_.notify_all();
  }
  // It does no more, for whatever reason.
  void end() { reach(steps_.load(std::memory_order_relaxed) | kEnded); }

  // Of others: sleeps until `steps` are done. False where they never will be.
  [[nodiscard]] bool wait_for(std::uint64_t steps) const {
    std::uint64_t done = steps_.load(std::memory_order_acquire);
    while (done < steps) {
      steps_.wait(done, std::memory_order_acquire);
      done = steps_.load(std::memory_order_acquire);
    }
    return (done & ~kEnded) >= steps;
  }

 private:
  static constexpr std::uint64_t kEnded = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> steps_{0};  // with kEnded more than any
};

}  // namespace grainscope::gnn

#endif
