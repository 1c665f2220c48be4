// What stands in for the sides of a shared GPU where the suite is built without CUDA.

#include "grainscope/core/error.hpp"
#include "grainscope/gnn/share_work.hpp"

namespace grainscope::gnn {

std::unique_ptr<ShareWork> make_gather_work(FeatureStore& /*store*/, RowLists /*lists*/,
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

struct ShareClock::Parts {};

ShareClock::ShareClock(int /*gpu*/) {
  throw SkipError("built without CUDA");
}

ShareClock::~ShareClock() = default;

double ShareClock::alone(ShareWork& /*work*/) {
  throw SkipError("built without CUDA");
}

ShareClock::Together ShareClock::together(ShareWork& /*first*/, ShareWork& /*second*/) {
  throw SkipError("built without CUDA");
}

void ShareClock::get_ready(ShareWork& /*work*/) {
  throw SkipError("built without CUDA");
}

ShareTimes ShareClock::run_at(ShareWork& /*work*/, double /*start_s*/) {
  throw SkipError("built without CUDA");
}

}  // namespace grainscope::gnn
