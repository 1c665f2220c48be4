// What stands in for training on GPUs where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/pipeline_sides.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {

std::unique_ptr<FeatureTable> make_pinned_table(graph::Vertex /*vertices*/, const Features& /*features*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Pipeline> make_gpu_pipeline(const TrainingPlan& /*plan*/, const FeatureTable& /*table*/,
                                            const PipelineRequest& /*request*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<GatheringSide> make_gathering_side(const TrainingPlan& /*plan*/,
                                                   const FeatureTable& /*table*/,
                                                   const PipelineRequest& /*request*/,
                                                   Exchange& /*exchange*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<TrainingSide> make_training_side(const TrainingPlan& /*plan*/, int /*gpu*/,
                                                 Exchange& /*exchange*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::gnn
