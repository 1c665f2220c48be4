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
const std::vector<double>& SharedRun::seconds() const {
  return parts_->seconds;
}
void SharedRun::get_ready() {}
ShareTimes SharedRun::run_at(double /*start_s*/) {
  return {};
}

}  // namespace grainscope::gnn
