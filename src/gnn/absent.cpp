// What stands in for gathers by GPUs where the suite is built without CUDA.

#include "gathers.hpp"
#include "grainscope/core/error.hpp"
#include "grainscope/gnn/bag.hpp"

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

}  // namespace grainscope::gnn
