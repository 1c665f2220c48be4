#ifndef GRAINSCOPE_SRC_GNN_PIPELINES_HPP
#define GRAINSCOPE_SRC_GNN_PIPELINES_HPP

// What pipelines on a CPU and on GPUs share.

#include "grainscope/gnn/pipeline.hpp"

namespace grainscope::gnn {

// Windows whose end comes before the pipeline is full.
inline constexpr std::size_t kFillingSteps = 1;

// Throws FailedError unless `wrong` is 0.
void refuse_wrong(std::uint64_t wrong);

// Throws UsageError where a table (null: none is needed) does not fit the plan, or the plan has not three
// windows.
void require_plan(const TrainingPlan& plan, const FeatureTable* table, const PipelineRequest& request);

[[nodiscard]] std::unique_ptr<Pipeline> make_host_pipeline(const TrainingPlan& plan,
                                                           const FeatureTable& table);
// Of all modes but cpu_gather; SkipError without CUDA.
[[nodiscard]] std::unique_ptr<Pipeline> make_gpu_pipeline(const TrainingPlan& plan, const FeatureTable& table,
                                                          const PipelineRequest& request);

}  // namespace grainscope::gnn

#endif
