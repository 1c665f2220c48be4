// What stands in for GPUs' sampling, gathers, training and shares where the suite is built without CUDA.

#include "gather_parts.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/gather.hpp"
#include "grainscope/gnn/gpu_sampling.hpp"
#include "grainscope/gnn/pipeline.hpp"
#include "grainscope/gnn/share_work.hpp"
#include "pipelines.hpp"

namespace grainscope::gnn {

std::unique_ptr<FeatureStore> make_feature_store(const StoreRequest& request,
                                                 const reach::SpanMemory* /*host*/,
                                                 cuda::ManagedBudget* /*budget*/) {
  if (request.store == Store::pageable) {
    return make_pageable_store(request);
  }
  throw SkipError("built without CUDA");
}

std::unique_ptr<FeatureStore> make_table_store(const StoreRequest& /*request*/, const FeatureTable& /*table*/,
                                               const Features& /*features*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Operation> make_gpu_gather(FeatureStore& /*store*/, RowLists /*lists*/,
                                           const GatherRequest& /*request*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<BagLookup> make_bag_lookup(FeatureStore& /*store*/, const RowLists& /*lists*/,
                                           const BagRequest& /*request*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<PlacedLists> place_lists(const graph::Csr& /*neighbours*/, const ListRequest& /*request*/,
                                         const cuda::Surroundings& /*surroundings*/,
                                         const PlacedLists* /*of_another*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<GpuSampler> make_gpu_sampler(const PlacedLists& /*lists*/, const SampleRequest& /*request*/,
                                             std::uint64_t /*most_seeds*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<GpuSampler> make_sending_sampler(const graph::Csr& /*neighbours*/, int /*gpu*/,
                                                 const SampleRequest& /*request*/,
                                                 std::uint64_t /*most_seeds*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<FeatureTable> make_mapped_table(graph::Vertex /*vertices*/, const Features& /*features*/,
                                                const cuda::MappedRequest& /*memory*/,
                                                const cuda::Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<Pipeline> make_gpu_pipeline(const TrainingPlan& /*plan*/, const FeatureTable& /*table*/,
                                            const PipelineRequest& /*request*/,
                                            const cuda::Surroundings& /*surroundings*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<TrainingRank> make_training_rank(const TrainingPlan& /*plan*/,
                                                 const PipelineRequest& /*request*/, std::size_t /*rank*/,
                                                 RankExchange& /*exchange*/) {
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

std::unique_ptr<ShareWork> make_gather_work(FeatureStore& /*store*/, RowLists /*lists*/, Mode /*mode*/,
                                            std::uint32_t /*width*/, const cuda::SmPartition& /*part*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<ShareWork> make_product_work(int /*gpu*/, int /*products*/,
                                             const cuda::SmPartition& /*part*/) {
  throw SkipError("built without CUDA");
}

std::unique_ptr<ShareWork> make_step_work(int /*gpu*/, const FixedBatch& /*batch*/, int /*steps*/,
                                          const cuda::SmPartition& /*part*/) {
  throw SkipError("built without CUDA");
}

struct SharedRun::Parts {
  std::vector<double> seconds;
};

SharedRun::SharedRun(std::vector<ShareWork*> /*works*/) {
  throw SkipError("built without CUDA");
}
SharedRun::~SharedRun() = default;
void SharedRun::prepare() {}
double SharedRun::run() {
  return 0;
}
std::string SharedRun::verify() {
  return {};
}
Timing SharedRun::timing() const {
  return {};
}
std::optional<double> SharedRun::around_s(double /*run_s*/) const {
  return std::nullopt;
}
const std::vector<double>& SharedRun::seconds() const {
  return parts_->seconds;
}
void SharedRun::get_ready() {}
ShareTimes SharedRun::run_at(double /*start_s*/) {
  return {};
}

}  // namespace grainscope::gnn
